"""Launches and critical paths of real captures, against values worked out by others or straight from the files."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
import pytest

import stepscope
from stepscope.analysis.critical_path import CriticalPath, critical_path
from stepscope.analysis.foundation.idle import IdleByCause
from stepscope.analysis.launches import Launches, launches
from stepscope.analysis.steps import steps
from stepscope.store.run_store import RunStore
from support.samples import SHARED_DATA

_CAUSES = IdleByCause.__struct_fields__
_CAPTURES = [
    ("kineto/h200_plain.json.gz", None),
    ("kineto/gpt_bf16.json.gz", None),
    ("kineto/ddp4", None),
    ("ascend", "text_level1"),
    ("ascend", "db_level1"),
]


Opened = Callable[..., RunStore]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Opens a capture; each is read once for all tests of this file."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    place = tmp_path_factory.mktemp("launches")

    @cache
    def read(capture: str, window: str | None = None) -> RunStore:
        # Captures that share a directory differ by their window, and each has a store of its own.
        path = SHARED_DATA / capture / (window or "") if window else SHARED_DATA / capture
        return stepscope.load(path, progress=False, store=place / f"{capture}-{window}".replace("/", "-")).store

    return read


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)


@pytest.mark.parametrize(("capture", "window"), _CAPTURES)
def test_idle_time_adds_up_to_the_nanosecond(opened: Opened, capture: str, window: str | None) -> None:
    store = opened(capture, window)
    answer = launches(store)
    msgspec.convert(answer.plain(), Launches)
    free = {(row["rank"], row["step"]): row["free_us"] for row in steps(store).data.iter_rows(named=True)}
    assert len(answer.data.idle) == len(free)
    for row in answer.data.idle:
        assert _ns(row.idle_us) == sum(_ns(getattr(row, cause)) for cause in _CAUSES)
        assert _ns(row.idle_us) == _ns(row.free_us) + _ns(row.lead_us) - _ns(row.other_step_us)
        assert _ns(row.free_us) == _ns(free[row.rank, row.step])
    listed = {(row.rank, row.step): 0 for row in answer.data.idle}
    for gap in launches(store, gaps=100_000).data.gaps:
        listed[gap.rank, gap.step] += _ns(gap.duration_us)
    assert listed == {(row.rank, row.step): _ns(row.idle_us) for row in answer.data.idle}


@pytest.mark.parametrize(("capture", "window"), _CAPTURES)
def test_paths_have_no_holes_and_are_as_long_as_their_step(opened: Opened, capture: str, window: str | None) -> None:
    store = opened(capture, window)
    marks = {(row["rank"], row["step"]): row for row in steps(store).data.iter_rows(named=True)}
    work = store.scan("slices").collect().filter(kind="kernel").sort("start_ns")
    every = sorted({step for _, step in marks})
    answer = critical_path(store, steps=every)
    msgspec.convert(answer.plain(), list[CriticalPath])
    assert len(answer.data) == len(marks)
    for found in answer.data:
        mark = marks[found.rank, found.step]
        reached = mark["period_start_ns"]
        for part in found.path:
            assert part.start_ns == reached
            reached += _ns(part.duration_us)
        assert reached == found.start_ns + _ns(found.length_us)
        assert _ns(found.length_us) == _ns(mark["period_us"])
        mine = work.filter(rank=found.rank, step=found.step)
        assert reached >= (mine["start_ns"] + mine["dur_ns"]).max()


def test_idle_time_of_the_h200_is_that_of_the_reference(opened: Opened) -> None:
    # 69,544.085 us from the first to the last device event; the first step's lead lies before that.
    found = launches(opened("kineto/h200_plain.json.gz")).data
    whole = sum(_ns(row.idle_us) for row in found.idle) - _ns(found.idle[0].lead_us)
    assert whole == 69_544_085
    assert {row.bound for row in found.steps} == {"host_bound"}


def test_latency_and_statistics_are_those_of_the_file_joined_by_hand(opened: Opened) -> None:
    with gzip.open(SHARED_DATA / "kineto" / "h200_plain.json.gz") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    calls = {_argument(event): event for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver")}
    device = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    marks = [event for event in events if event.get("cat") == "user_annotation" and "ProfilerStep" in event["name"]]
    latency: dict[int, list[int]] = defaultdict(list)
    counted: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for event in device:
        call = calls[_argument(event)]
        (step,) = (
            int(mark["name"].split("#")[1])
            for mark in marks
            if mark["ts"] <= call["ts"] < mark["ts"] + mark["dur"] and mark["tid"] == marks[0]["tid"]
        )
        delay = _exact(event["ts"]) - _exact(call["ts"]) - _exact(call["dur"])
        latency[step].append(max(0, delay))
        called, ran = _exact(call["dur"]), _exact(event["dur"])
        counted[step][0] += ran < called <= 50_000
        counted[step][1] += called > 50_000
        counted[step][2] += delay > 100_000
    found = launches(opened("kineto/h200_plain.json.gz")).data
    for row in found.steps:
        ordered = sorted(latency[row.step])
        middle = len(ordered) // 2
        assert row.launches == row.kernels == len(ordered)
        assert row.latency_median_us == pytest.approx((ordered[middle - 1] + ordered[middle]) / 2000)
        assert _ns(row.latency_max_us or 0) == ordered[-1]
    assert {row.step: [row.short_kernels, row.long_calls, row.delayed] for row in found.statistics} == counted


def _argument(event: dict[str, Any]) -> int:
    return int(event["args"]["correlation"])


def _exact(microseconds: Any) -> int:
    return int(Decimal(microseconds) * 1000)


def test_the_gpt_waits_for_its_host_and_the_path_says_so(opened: Opened) -> None:
    store = opened("kineto/gpt_bf16.json.gz")
    (found,) = critical_path(store).data
    shares = {entry.bound: entry.share for entry in found.by_bound}
    assert shares["cpu_bound"] > 0.95
    assert found.needs == ["stream_waits"], "this capture has no cuda_sync events"
    loads = [gap for gap in launches(store).data.gaps if gap.lead]
    assert {gap.host_name for gap in loads} <= {"dataload", None}
    assert any(gap.cause == "data" for gap in loads)


def test_four_ranks_on_gloo_are_bound_by_communication(opened: Opened) -> None:
    paths = critical_path(opened("kineto/ddp4")).data
    assert {found.by_bound[0].bound for found in paths} == {"communication"}
    assert all(any(part.name == "gloo:all_reduce" for part in found.path) for found in paths)


@pytest.mark.parametrize("window", ["text_level1", "db_level1"])
def test_ascend_waits_for_the_all_reduce_of_the_slowest_rank(opened: Opened, window: str) -> None:
    store = opened("ascend", window)
    for found in critical_path(store).data:
        longest = max(found.path, key=lambda part: part.duration_us)
        assert longest.bound == "communication"
        assert (longest.name or "").startswith("hcom_allReduce")
        assert found.by_bound[0].share > 0.6
    answer = launches(store).data
    assert all(row.launches == 210 and row.kernels == 215 for row in answer.steps), "as many arrows as the sheet counts"
    sync = max(answer.syncs, key=lambda row: row.total_us)
    assert sync.name == "AscendCL@aclrtSynchronizeStreamWithTimeout"
    assert any(gap.activity == "compile" for gap in answer.gaps)
