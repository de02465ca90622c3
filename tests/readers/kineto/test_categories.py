"""Every category of every age has a kind; counters and instants."""

from __future__ import annotations

from typing import Any

import pytest

from readers.kineto.opened_traces import Opened, links
from support.traces import (
    Event,
    complete,
    kernel,
    operator,
    us,
)


# counters, marks, categories
def test_each_number_of_a_counter_is_a_series(opened: Opened) -> None:
    def counter(name: str, time_ns: int, **args: Any) -> Event:
        return {"ph": "C", "cat": "hardware_counters", "name": name, "pid": "GPU 0", "ts": us(time_ns), "args": args}

    events = [
        operator("a", 1_000, 10),
        counter("SM Active", 3_000, **{"": 0.75}),
        counter("SM Active", 2_000, **{"": 0.5}),
        counter("Memory", 2_000, read=1, write="2.5", unit="GB", on=True, bad=None),
    ]
    reading = opened(events)
    names = {row["track"]: row["name"] for row in reading.rows("tracks") if row["kind"] == "counter"}
    found = [(names[row["track"]], row["time_ns"], row["value"]) for row in reading.rows("counters")]
    assert sorted(found) == [
        ("Memory read", 2_000, 1.0),
        ("Memory write", 2_000, 2.5),
        ("SM Active", 2_000, 0.5),
        ("SM Active", 3_000, 0.75),
    ]
    in_order = [row["time_ns"] for row in reading.rows("counters") if names[row["track"]] == "SM Active"]
    assert in_order == [2_000, 3_000]


def test_instants_are_marks_without_length(opened: Opened) -> None:
    mark = {"name": "Iteration Start", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace", "ts": us(1_500)}
    row = opened([operator("a", 1_000, 10), mark]).named("Iteration Start")
    assert (row["kind"], row["start_ns"], row["dur_ns"]) == ("mark", 1_500, 0)


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("Operator", "operator"),
        ("operator", "operator"),
        ("CPU_OP", "operator"),
        ("Runtime", "runtime"),
        ("Kernel", "kernel"),
        ("Memcpy", "copy"),
        ("Memset", "copy"),
        ("Python", "python"),
        ("python_function", "python"),
        ("cuda_driver", "runtime"),
        ("mtia_runtime", "runtime"),
        ("xpu_driver", "runtime"),
        ("privateuse1_runtime", "runtime"),
        ("hpu_op", "operator"),
        ("gpu_user_annotation", "annotation"),
        ("cuda_sync", "sync"),
        ("overhead", "overhead"),
        ("Trace", "annotation"),
    ],
)
def test_categories_of_all_ages_and_backends_have_a_kind(category: str, kind: str, opened: Opened) -> None:
    reading = opened([complete(category, "x", 1_000, 10)])
    assert reading.named("x")["kind"] == kind
    assert "category_unknown" not in reading.codes


def test_old_device_categories_take_part_in_everything(opened: Opened) -> None:
    events = [
        complete("Runtime", "cudaLaunchKernel", 1_000, 10, pid=100, correlation=1),
        complete("Kernel", "k", 2_000, 10, pid=0, tid=7, correlation=1, stream=7),
        complete("Memcpy", "Memcpy DtoD", 3_000, 10, pid=0, tid=7, correlation=2, stream=7, bytes=64),
    ]
    reading = opened(events)
    assert links(reading, "launch") == [(0, 1)]
    assert (reading.named("Memcpy DtoD")["bytes"], reading.named("k")["core"]) == (64, "GPU")


def test_an_unknown_category_is_kept_and_counted(opened: Opened) -> None:
    reading = opened([complete("zebra", "a", 1_000, 10), complete("zebra", "b", 2_000, 10), operator("c", 1, 1)])
    assert reading.named("a")["kind"] == "annotation"
    assert reading.codes["category_unknown"] == 2


def test_device_slices_that_do_no_work_have_no_core(opened: Opened) -> None:
    events = [
        complete("cuda_sync", "Stream Sync", 1_000, 10, pid=0, tid=7, stream=7, correlation=1),
        complete("gpu_user_annotation", "span", 1_000, 10, pid=0, tid=7),
        kernel("k", 2_000, 5, 2),
    ]
    cores = {row["name"]: row["core"] for row in opened(events).rows("slices")}
    assert cores == {"Stream Sync": None, "span": None, "k": "GPU"}
