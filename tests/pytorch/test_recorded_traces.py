"""Traces that PyTorch itself records here and now, read back and compared with what json and decimal say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import stepscope
from support.limits import HANGS_AFTER_S

torch = pytest.importorskip("torch")

_GLOO = """
import os, sys, torch, torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule
rank, directory = int(sys.argv[1]), sys.argv[2]
os.environ.update(GLOO_SOCKET_IFNAME="lo")
dist.init_process_group("gloo", init_method=f"file://{directory}/rendezvous", rank=rank, world_size=2)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=2), record_shapes=True,
             on_trace_ready=lambda done: done.export_chrome_trace(f"{directory}/trace{rank}.json")) as profiler:
    for _ in range(3):
        dist.all_reduce(torch.ones(1000))
        profiler.step()
dist.destroy_process_group()
"""


def record(path: Path, **switches: bool) -> None:
    from torch.profiler import ProfilerActivity, profile, schedule

    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=lambda finished: finished.export_chrome_trace(str(path)),
        **switches,
    ) as profiler:
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.randn(16, 32)).square().mean().backward()
            optimizer.step()
            profiler.step()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["plain.json", "zipped.json.gz"])
@pytest.mark.parametrize("switches", [{}, {"record_shapes": True, "with_stack": True, "profile_memory": True}])
def test_every_recorded_event_is_read_exactly(tmp_path: Path, name: str, switches: dict[str, bool]) -> None:
    import gzip

    path = tmp_path / name
    record(path, **switches)
    text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    document = json.loads(text, parse_float=Decimal)
    base = document["baseTimeNanoseconds"]
    expected = Counter(
        (event["name"], base + int(Decimal(event["ts"]) * 1000), int(Decimal(event["dur"]) * 1000))
        for event in document["traceEvents"]
        if event.get("ph") == "X"
    )
    run = stepscope.load(path)
    slices = run.table("slices").filter(pl.col("kind") != "mark").select("name", "start_ns", "dur_ns").collect()
    assert Counter(slices.iter_rows()) == expected
    assert run.table("steps").collect()["step"].to_list() == [2, 3, 4]
    if switches:
        operators = run.table("slices").filter(kind="operator").collect()
        assert "[[16, 32], [64, 32], [64]]" in operators["input_shapes"].cast(pl.String).to_list()
        assert any(path and path.endswith("Linear_0") for path in operators["module"].cast(pl.String).to_list())
        memory = [event for event in document["traceEvents"] if event.get("name") == "[memory]"]
        assert run.table("memory").collect().height == len(memory)
        assert any("test_recorded_traces.py" in frames for frames in run.table("stacks").collect()["frames"])


@pytest.mark.filterwarnings("ignore")
def test_forward_links_to_backward(tmp_path: Path) -> None:
    record(tmp_path / "trace.json")
    run = stepscope.load(tmp_path / "trace.json")
    pairs = run.sql("""
        SELECT f.name AS forward, b.name AS backward FROM links
        JOIN slices f ON f.slice = from_slice JOIN slices b ON b.slice = to_slice WHERE links.kind = 'forward_backward'
    """)
    assert ("aten::mean", "MeanBackward0") in set(pairs.iter_rows())
    phases = run.sql("SELECT DISTINCT name, phase FROM slices WHERE name IN ('aten::addmm', 'MeanBackward0')")
    assert set(phases.iter_rows()) == {("aten::addmm", "forward"), ("MeanBackward0", "backward")}


def test_two_gloo_ranks_are_one_run_with_collectives(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(_GLOO)
    captures = tmp_path / "captures"
    captures.mkdir()
    workers = [
        subprocess.Popen([sys.executable, script, str(rank), str(captures)], stderr=subprocess.PIPE) for rank in (0, 1)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=HANGS_AFTER_S)
        assert worker.returncode == 0, errors.decode()
    run = stepscope.load(captures)
    assert run.ranks == [0, 1]
    calls = run.sql('SELECT rank, kind, bytes, "group", count(*) AS calls FROM collectives GROUP BY ALL ORDER BY rank')
    assert calls.rows() == [(0, "all_reduce", 4000, "0", 2), (1, "all_reduce", 4000, "0", 2)]
    assert run.table("groups").collect()["ranks"].to_list() == [[0, 1]]
