"""The step trace of real captures, against vendor files and figures known from elsewhere."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from stepscope.analysis.summary import summary
from stepscope.analysis.vendor_step_trace import vendor_step_trace
from support.samples import open_sample

_CAPTURES = [
    ("kineto/h200_plain.json.gz", None),
    ("kineto/gpt_bf16.json.gz", None),
    ("kineto/gpt_stack.json.gz", None),
    ("kineto/ddp4", None),
    ("ascend", "text_level1"),
    ("ascend", "db_level1"),
    ("mindinsight/run_2", None),
]


@pytest.mark.parametrize(("capture", "window"), _CAPTURES)
def test_the_identity_holds_to_the_nanosecond(shared_data: Path, capture: str, window: str | None) -> None:
    data = open_sample(shared_data / capture, window).steps()
    parts = ("computing_us", "exposed_communication_us", "exposed_copy_us", "free_us", "device_span_us")
    exact = data.select((pl.col(name) * 1000).round().cast(pl.Int64) for name in parts).drop_nulls()
    assert len(exact) == len(data)
    assert (exact.select(pl.sum_horizontal(parts[:4])).to_series() == exact["device_span_us"]).all()


def test_the_h200_trace_gives_the_reference_values(shared_data: Path) -> None:
    # kineto-format.md, B15. HTA rounds each event to whole microseconds and gets 7,361 us of compute and 391
    # durations of zero or less; we add int64 nanoseconds.
    run = open_sample(shared_data / "kineto" / "h200_plain.json.gz")
    window = run.summary().ranks[0].window
    assert window is not None
    assert window.span_us == 79_065.596
    assert window.busy_us == 9_521.511
    assert window.computing_us == 8_381.623
    assert window.exposed_copy_us == 1_139.888
    assert window.exposed_communication_us == 0
    assert window.free_us == 69_544.085
    assert round(run.steps()["computing_us"].sum(), 3) == 8_381.623


def test_the_slow_rank_of_four_computes_more_and_waits_less(shared_data: Path) -> None:
    answer = summary(open_sample(shared_data / "kineto" / "ddp4").store)
    assert answer.data.delimitation is not None
    assert answer.data.delimitation.computing.ranks == [2]
    assert answer.data.delimitation.communication.ranks == [2]
    assert answer.data.delimitation.computing.flagged


# The vendor adds slices whose ends it rounded to 1 ns through doubles (a quarter of a microsecond apart at this
# epoch), so each of its columns is off by that: Computing and the overlap by tens of nanoseconds (sums of rounded
# slices), Stage by up to 0.25 us (difference of two rounded times).
_COLUMNS = {
    "Computing": ("computing_us", 0.03),
    "Communication(Not Overlapped)": ("communication_not_overlapped_us", 0.03),
    "Overlapped": ("overlapped_us", 0.03),
    "Communication": ("communication_us", 0.0005),
    "Free": ("free_us", 0.03),
    "Stage": ("stage_us", 0.25),
    "Bubble": ("bubble_us", 0.0),
    "Communication(Not Overlapped and Exclude Receive)": ("communication_not_overlapped_exclude_receive_us", 0.03),
    "Preparing": ("preparing_us", 0.25),
}


def test_every_column_of_the_vendors_step_trace_is_recomputed_from_events(shared_data: Path) -> None:
    run = open_sample(shared_data / "ascend", "text_level1")
    ours = {row["rank"]: row for row in vendor_step_trace(run.store).data.to_dicts()}
    files = sorted((shared_data / "ascend").rglob("step_trace_time.csv"))
    assert len(files) == 2
    for rank, file in enumerate(files):
        assert f"rank{rank}" in str(file)
        with file.open(encoding="utf-8") as lines:
            (theirs,) = csv.DictReader(lines)
        assert int(theirs["Step"]) == ours[rank]["step"]
        assert set(theirs) == {"Step", *_COLUMNS}
        for column, (field, tolerance) in _COLUMNS.items():
            assert ours[rank][field] == pytest.approx(float(theirs[column]), abs=tolerance), column


def test_every_column_of_the_vendors_database_is_recomputed_from_events(shared_data: Path) -> None:
    run = open_sample(shared_data / "ascend", "db_level1")
    theirs = run.sql(
        "SELECT rank, metric, value FROM reported WHERE file = 'analysis.db' AND step = 50 AND key IS NULL"
    )
    wanted = {(rank, metric): value for rank, metric, value in theirs.iter_rows() if metric in _COLUMNS}
    assert {metric for _, metric in wanted} >= set(_COLUMNS) - {"Preparing"}
    for row in vendor_step_trace(run.store).data.to_dicts():
        for column, (field, tolerance) in _COLUMNS.items():
            if (row["rank"], column) in wanted:
                assert row[field] == pytest.approx(wanted[row["rank"], column], abs=max(tolerance, 0.001)), column


def test_copies_are_not_free_time(shared_data: Path) -> None:
    # The vendor counts copies as Free; ours are apart, and the span begins with the first copy.
    run = open_sample(shared_data / "ascend", "text_level1")
    assert (run.steps()["exposed_copy_us"] > 0).all()
