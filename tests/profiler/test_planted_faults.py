"""A planted sleep of 50 ms is found at its place with its size: data loader, operator, one of four ranks.

Its size is what the loop's own clock says, from inside the fault and from around it: a busy machine sleeps longer.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.profiler import profile, schedule
from support.limits import HANGS_AFTER_S

torch: Any = pytest.importorskip("torch")

SLEEP_S = 0.05
_SOURCE = str(Path(stepscope.__file__).parents[1])


class SlowDataset:
    """Two rows of 25 ms make a batch of 50 ms."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Any:
        time.sleep(SLEEP_S / 2)
        return torch.ones(64)


_slept_us: list[float] = []


def _slow_square(value: Any) -> Any:
    began = time.perf_counter()
    time.sleep(SLEEP_S)
    _slept_us.append((time.perf_counter() - began) * 1e6)
    return value * value


@pytest.fixture
def slow_square() -> Any:
    """An operator with a sleep in it."""
    library = torch.library.Library("stepscope_test", "DEF")
    library.define("slow_square(Tensor value) -> Tensor")
    library.impl("slow_square", _slow_square, "CPU")
    yield torch.ops.stepscope_test.slow_square
    library._destroy()


def _profile(folder: Path, **more: Any) -> Any:
    return profile(schedule=schedule(wait=1, warmup=1, active=6, repeat=1), output_path=str(folder), **more)


def test_in_the_data_loader(tmp_path: Path) -> None:
    source = iter(torch.utils.data.DataLoader(SlowDataset(), batch_size=2))
    around_us = []
    with _profile(tmp_path, data_process=True) as prof:
        for _ in range(8):
            began = time.perf_counter()
            batch = next(source)
            around_us.append((time.perf_counter() - began) * 1e6)
            batch.sum()
            prof.step()
    answer = stepscope.load(tmp_path).pipeline()
    assert answer.verdict.bound == "pipeline"
    assert answer.bottleneck is not None
    assert "SlowDataset" in answer.bottleneck
    (waited,) = [part.median_us for part in answer.batches if part.part == "get"]
    assert SLEEP_S * 1e6 * 0.999 <= waited <= max(around_us[2:]) * 1.001  # two clocks


def test_in_an_operator(tmp_path: Path, slow_square: Any) -> None:
    value = torch.ones(1000)
    around_us = []
    _slept_us.clear()
    with _profile(tmp_path) as prof:
        for _ in range(9):
            (value + 1).sum()
            began = time.perf_counter()
            slow_square(value)
            around_us.append((time.perf_counter() - began) * 1e6)
            prof.step()
    run = stepscope.load(tmp_path)
    rows = run.operators(by="operator")
    worst = rows.sort("total_us", descending=True).row(0, named=True)
    assert worst["name"] == "stepscope_test::slow_square"
    assert worst["count"] == 6
    inside, around = statistics.mean(_slept_us[2:8]), statistics.mean(around_us[2:8])
    assert inside * 0.999 <= worst["avg_us"] <= around * 1.001  # two clocks
    steps = run.table("steps").collect()
    assert ((steps["host_end_ns"] - steps["host_start_ns"]) / 1e9 > SLEEP_S).all()


RANKS = """
import glob, os, sys, time
import torch
import torch.distributed as dist
from stepscope.profiler import profile, schedule
folder, slow, sleep_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

def waits(arrived):
    # All its threads sleep, and none has merely been left without a processor: so it is inside the collective.
    states = set()
    for _ in range(10):
        for thread in glob.glob(f"/proc/{arrived.rpartition('_')[2]}/task/*/stat"):
            with open(thread) as file:
                states.add(file.read().rpartition(")")[2].split()[0])
        time.sleep(0.001)
    return states == {"S"}

def train(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="4", LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=4)
    value = torch.ones(1000)
    with profile(schedule=schedule(wait=1, warmup=1, active=4, repeat=1), output_path=f"{folder}/out") as prof:
        for step in range(7):
            value * 2
            if rank == slow:  # comes last, by a sleep, however busy the machine is
                while len(others := glob.glob(f"{folder}/arrived_{step}_*")) < 3 or not all(map(waits, others)):
                    time.sleep(0.001)
                time.sleep(sleep_s)
            else:
                os.close(os.open(f"{folder}/arrived_{step}_{os.getpid()}", os.O_CREAT))
            dist.all_reduce(value)
            prof.step()
    dist.destroy_process_group()

torch.set_num_threads(1)
children = []
for rank in range(4):  # forked, so that PyTorch is imported once
    child = os.fork()
    if child == 0:
        train(rank)
        sys.stdout.flush()
        os._exit(0)
    children.append(child)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def test_in_one_of_four_ranks(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(textwrap.dedent(RANKS))
    command = [sys.executable, str(tmp_path / "ranks.py"), str(tmp_path), "2", str(SLEEP_S)]
    names = {**os.environ, "PYTHONPATH": _SOURCE, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=names, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert done.returncode == 0, done.stderr
    run = stepscope.load(tmp_path / "out")
    assert run.ranks == [0, 1, 2, 3]
    calls = run.table("collectives").filter(pl.col("step").is_not_null()).collect()
    calls = calls.sort("rank", "start_ns").with_columns(call=pl.int_range(pl.len()).over("rank"))
    slow = calls.filter(pl.col("rank") == 2).select("call", slow_start_ns="start_ns")
    others = calls.filter(pl.col("rank") != 2).join(slow, on="call")
    assert (slow.height, others.height) == (4, 12)
    late_s = (others["slow_start_ns"] - others["start_ns"]) / 1e9
    assert late_s.min() > SLEEP_S * 0.9, "the slow one comes last"  # type: ignore[operator]
    assert (others["end_ns"] >= others["slow_start_ns"]).all(), "the others wait for it inside the collective"
