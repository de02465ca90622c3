"""Several ranks: one directory each, read as one run, and the slow one stands out."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.profiler.foundation.rank_identity import identity
from support.limits import HANGS_AFTER_S

pytest.importorskip("torch")

GLOO = """
import glob, os, sys, time, torch, torch.distributed as dist
from stepscope.profiler import profile, schedule, tensorboard_trace_handler
torch.set_num_threads(1)
rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=world)
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
handler = tensorboard_trace_handler(f"{folder}/out", analyse_flag=False)
plan = schedule(wait=0, warmup=1, active=3, repeat=1)
with profile(schedule=plan, on_trace_ready=handler, record_shapes=True) as prof:
    for step in range(4):
        with torch.profiler.record_function("compute"):
            began = time.time_ns()
            if rank == 2:  # comes last, by a sleep, however busy the machine is
                while len(glob.glob(f"{folder}/arrived_{step}_*")) < world - 1:
                    time.sleep(0.001)
            time.sleep(0.15 if rank == 2 else 0.01)
            print(time.time_ns() - began)
        if rank != 2:
            os.close(os.open(f"{folder}/arrived_{step}_{rank}", os.O_CREAT))
        dist.all_reduce(torch.ones(1000))
        dist.all_reduce(torch.ones(10), group=pairs[rank // 2])
        prof.step()
dist.destroy_process_group()
"""


def test_four_gloo_ranks_are_one_run_and_the_slow_one_is_found(tmp_path: Path, job: Any) -> None:
    jobs = [job.start(GLOO, str(rank), "4", str(tmp_path)) for rank in range(4)]
    slept = []
    for process in jobs:
        output, errors = process.communicate(timeout=HANGS_AFTER_S)
        assert process.returncode == 0, errors
        slept.append([int(line) for line in output.split()[1:]])
    directories = sorted((tmp_path / "out").iterdir())
    assert len(directories) == 4
    for directory in directories:
        said = json.loads((directory / "stepscope.json").read_text())
        metadata = json.loads((directory / "profiler_metadata.json").read_text())
        assert (directory / f"profiler_info_{said['rank']}.json").is_file()
        members = sorted(group["global_ranks"] for group in metadata["parallel_group_info"].values())
        assert [0, 1, 2, 3] in members
        assert ([0, 1] if said["rank"] < 2 else [2, 3]) in members
    run = stepscope.load(tmp_path / "out")
    assert run.ranks == [0, 1, 2, 3]
    assert run.table("ranks").collect()["world_size"].to_list() == [4] * 4
    assert run.table("steps").collect().group_by("rank").len()["len"].to_list() == [3] * 4
    compute = run.sql(
        "SELECT rank, list(dur_ns ORDER BY start_ns) AS ns FROM slices WHERE name = 'compute' GROUP BY rank"
    )
    by_rank = dict(compute.rows())
    for rank in range(4):  # recorded around the rank's own clock; where nothing came between, they are the same
        ratios = [ours / own for ours, own in zip(by_rank[rank], slept[rank], strict=True)]
        assert min(ratios) == pytest.approx(1, rel=0.05)
    assert max(by_rank, key=lambda rank: min(by_rank[rank])) == 2
    # Everybody waits for rank 2 in the first collective of a step, but not rank 2 itself.
    waits = run.sql("""
        SELECT rank, median(end_ns - start_ns) / 1e6 AS ms FROM collectives WHERE bytes = 4000 GROUP BY rank
    """)
    waited = dict(waits.rows())
    assert waited[2] < min(waited[rank] for rank in (0, 1, 3))
    assert statistics.median(waited[rank] - waited[2] for rank in (0, 1, 3)) > 20
    groups = run.table("groups").filter(pl.col("ranks").list.len() > 1).collect()
    assert [0, 1, 2, 3] in groups["ranks"].to_list()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 1, 0, "none")),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, (3, 8, 1, "environment")),
        ({"RANK_ID": "5", "RANK_SIZE": "16", "DEVICE_ID": "5"}, (5, 16, 5, "environment")),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, (2, 4, 0, "environment")),
        ({"RANK_ID": "7"}, (7, 8, 0, "environment")),
        ({"RANK": "many", "WORLD_SIZE": "-1"}, (0, 1, 0, "none")),
    ],
)
def test_the_environment_tells_the_rank(
    environment: dict[str, str], expected: tuple[int, int, int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DEVICE_ID", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = identity()
    assert (found.rank, found.world_size, found.local_rank, found.origin) == expected
