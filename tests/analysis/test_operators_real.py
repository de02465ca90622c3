"""Operators and kernels on real captures, against what the vendor's own files and independent sums say."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.captures import opened
from stepscope.analysis.operators import operators

_OUTPUT = "ASCEND_PROFILER_OUTPUT"


@pytest.mark.parametrize("rank", [0, 1])
def test_host_and_device_times_are_those_of_the_vendors_operator_details(shared_data: Path, rank: int) -> None:
    """Four columns of all 859 calls, per operator. Ours are whole nanoseconds, the vendor's device times are not."""
    file = shared_data / "ascend" / "text_level1" / f"rank{rank}_ascend_pt" / _OUTPUT / "operator_details.csv"
    theirs: dict[str, list[float]] = defaultdict(lambda: [0.0] * 5)
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            values = ("Host Total", "Host Self", "Device Total", "Device Self")
            parts = [1.0, *(float(row[f"{name} Duration(us)"]) for name in values)]
            theirs[row["Name"]] = [a + b for a, b in zip(theirs[row["Name"]], parts, strict=True)]
    store = opened("ascend", "text_level1")
    found = operators(store, ranks=[rank], by="operator", side="host").data
    assert len(found) == len(theirs) == 133
    assert found["count"].sum() == 859
    for row in found.to_dicts():
        count, *expected = theirs[row["name"]]
        assert row["count"] == count
        assert [row["total_us"], row["self_us"]] == pytest.approx(expected[:2], abs=1e-6)
        assert [row["device_total_us"], row["device_self_us"]] == pytest.approx(expected[2:], abs=0.01)


def test_sums_of_a_gpu_capture_are_those_of_the_file() -> None:
    """Known values of this capture: kernels 8,381.623 us, copies and sets 1,139.888 us, 1,384 device events."""
    store = opened("kineto/h200_plain.json.gz")
    kernels = operators(store).data
    assert round(kernels["total_us"].sum() * 1000) == 8_381_623
    assert round(operators(store, lane="copy").data["total_us"].sum() * 1000) == 1_139_888
    everything = operators(store, lane="all").data
    assert (everything["count"].sum(), round(everything["total_us"].sum() * 1000)) == (1384, 9_521_511)
    # Nothing runs side by side in this capture, so busy time is the sum.
    assert everything["busy_share"].sum() == pytest.approx(1.0)


def test_kernels_of_a_gpu_capture_by_name_and_operator(shared_data: Path) -> None:
    with gzip.open(shared_data / "kineto" / "gpt_stack.json.gz") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    by_id = {event["args"]["External id"]: event["name"] for event in events if event.get("cat") == "cpu_op"}
    names: dict[str, Decimal] = defaultdict(Decimal)
    owners: dict[str, Decimal] = defaultdict(Decimal)
    for event in events:
        if event.get("cat") == "kernel":
            names[event["name"]] += Decimal(event["dur"])
            owners[by_id[event["args"]["External id"]]] += Decimal(event["dur"])
    store = opened("kineto/gpt_stack.json.gz")
    assert _totals(operators(store).data) == {name: int(total * 1000) for name, total in names.items()}
    by_operator = operators(store, by="operator").data
    assert _totals(by_operator.filter(pl.col("side") == "device")) == {
        name: int(total * 1000) for name, total in owners.items()
    }
    # What operators launched themselves is all there is: kernels and copies.
    host = by_operator.filter(pl.col("side") == "host")
    assert round(host["device_self_us"].sum() * 1000) == round(
        operators(store, lane="all").data["total_us"].sum() * 1000
    )


def _totals(rows: pl.DataFrame) -> dict[str, int]:
    return {row["name"]: round(row["total_us"] * 1000) for row in rows.to_dicts()}


def test_most_time_of_a_training_step_has_a_module() -> None:
    """Without the links from forward to backward only the forward pass would have one: 131 of 406 kernels."""
    store = opened("kineto/gpt_stack.json.gz")
    rows = operators(store, by="module", side="device").data
    without = rows.filter(pl.col("name").is_null())
    assert without["share"].sum() < 0.2  # the optimizer and the loss are in no module
    assert rows["count"].sum() == 406
    assert without["count"].sum() < 406 - 131


@pytest.mark.parametrize(
    ("capture", "window"),
    [
        ("kineto/h200_plain.json.gz", None),
        ("kineto/gpt_bf16.json.gz", None),
        ("kineto/ddp4", None),
        ("ascend", "text_level1"),
        ("ascend", "db_level1"),
    ],
)
def test_categories_leave_little_over_and_lose_nothing(capture: str, window: str | None) -> None:
    store = opened(capture, window)
    categories = operators(store, by="category", side="device").data
    assert categories.filter(pl.col("name") == "other")["share"].sum() < 0.05
    everything = operators(store, lane="all", side="device").data
    assert round(categories["total_us"].sum() * 1000) == round(everything["total_us"].sum() * 1000)


@pytest.mark.parametrize("by", ["kernel", "type", "operator", "shape", "module", "core"])
def test_each_grouping_adds_up_to_the_same_kernels(by: str) -> None:
    for capture, window in (("ascend", "text_level1"), ("kineto/ddp4", None), ("mindinsight/run_2", None)):
        store = opened(capture, window)
        rows = operators(store, by=by, side="device").data
        slices = (
            store.scan("slices").filter(pl.col("kind") == "kernel").select(pl.len(), pl.col("dur_ns").sum()).collect()
        )
        assert (rows["count"].sum(), round(rows["total_us"].sum() * 1000)) == slices.row(0)
        for share in rows.group_by("rank").agg(pl.col("share").sum())["share"]:
            assert share == pytest.approx(1.0)


def test_text_and_database_of_one_job_have_the_same_operators() -> None:
    """Two captures of the same script: times differ, counts do not."""

    def counts(window: str) -> dict[tuple[Any, ...], int]:
        store = opened("ascend", window)
        rows = operators(store, ranks=[0], by="type").data
        return {(row["name"], row["core"]): row["count"] for row in rows.to_dicts()}

    assert counts("text_level1") == counts("db_level1")
