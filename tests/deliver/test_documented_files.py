"""The documented files of a capture directory: by hand, and beside the vendor's own of a real capture."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from analysis.stores import make_store
from stepscope.deliver.capture_directory import deliver

Rows = list[dict[str, str]]


def _rows(path: Path) -> Rows:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def _same_number(ours: str, theirs: str, tolerance: float) -> bool:
    return float(ours or 0) == pytest.approx(float(theirs or 0), abs=tolerance)


@pytest.fixture(scope="module")
def ascend(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What we write of a real capture of an NPU, and what its vendor wrote."""
    from support.samples import SHARED_DATA

    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    place = tmp_path_factory.mktemp("delivered")
    run = stepscope.load(SHARED_DATA / "ascend", window="text_level1", progress=False, store=place / "store")
    deliver(run.store, 0, place / "capture")
    theirs = SHARED_DATA / "ascend" / "text_level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    return place / "capture" / "ASCEND_PROFILER_OUTPUT", theirs


def test_kernels_are_the_vendors_row_by_row(ascend: tuple[Path, Path]) -> None:
    ours, theirs = (_rows(place / "kernel_details.csv") for place in ascend)
    assert len(ours) == len(theirs) == 191
    for mine, their in zip(ours, theirs, strict=True):
        for column in ("Step Id", "Name", "Type", "Accelerator Core", "Stream ID"):
            assert mine[column].strip() == their[column].strip(), column
        # The vendor's table and its timeline, from which we write, differ by a nanosecond at times.
        apart = Decimal(mine["Start Time(us)"].strip()) - Decimal(their["Start Time(us)"].strip())
        assert abs(apart) <= Decimal("0.001")
        for column in ("Duration(us)", "Wait Time(us)"):
            assert _same_number(mine[column], their[column], 0.0025), column
        assert mine["Input Shapes"].strip('"').replace("N/A", "") == their["Input Shapes"].strip('"').replace("N/A", "")


def test_types_of_kernels_are_the_vendors(ascend: tuple[Path, Path]) -> None:
    ours, theirs = (
        {(row["OP Type"], row["Core Type"]): row for row in _rows(place / "op_statistic.csv")} for place in ascend
    )
    assert set(ours) == set(theirs)
    for key, row in theirs.items():
        assert ours[key]["Count"] == row["Count"]
        for column in ("Min Time(us)", "Max Time(us)", "Avg Time(us)"):
            assert _same_number(ours[key][column], row[column], 0.002), column
        # The vendor adds slices that it rounded first.
        assert _same_number(ours[key]["Total Time(us)"], row["Total Time(us)"], 0.02)


def test_operators_have_the_vendors_times_on_host_and_device(ascend: tuple[Path, Path]) -> None:
    ours, theirs = (_rows(place / "operator_details.csv") for place in ascend)
    assert len(ours) == len(theirs)
    columns = [f"{side} {kind} Duration(us)" for side in ("Host", "Device") for kind in ("Self", "Total")]
    for mine, their in zip(ours, theirs, strict=True):
        assert mine["Name"] == their["Name"]
        assert all(_same_number(mine[column], their[column], 0.05) for column in columns), mine["Name"]


def test_communication_has_the_vendors_times(ascend: tuple[Path, Path]) -> None:
    ours, theirs = (json.loads((place / "communication.json").read_text("utf-8")) for place in ascend)
    assert set(ours) == set(theirs)
    for step, classes in theirs.items():
        for kind, calls in classes.items():
            assert set(ours[step][kind]) == set(calls)
            for name, call in calls.items():
                mine = ours[step][kind][name]["Communication Time Info"]
                for field, value in call["Communication Time Info"].items():
                    assert mine[field] == pytest.approx(value, abs=0.001), (name, field)


def test_communication_has_the_vendors_sizes_by_link_type(ascend: tuple[Path, Path]) -> None:
    ours, theirs = (json.loads((place / "communication.json").read_text("utf-8")) for place in ascend)
    for step, classes in theirs.items():
        for kind, calls in classes.items():
            for name, call in calls.items():
                mine = ours[step][kind][name]["Communication Bandwidth Info"]
                for transport, sums in call["Communication Bandwidth Info"].items():
                    assert mine[transport]["Transit Size(MB)"] == pytest.approx(sums["Transit Size(MB)"])
                    assert mine[transport]["Transit Time(ms)"] == pytest.approx(sums["Transit Time(ms)"], abs=0.001)
                    sizes, own = sums["Size Distribution"], mine[transport]["Size Distribution"]
                    assert {size: count for size, (count, _) in own.items()} == {
                        size: count for size, (count, _) in sizes.items()
                    }
                    assert set(mine[transport]) == set(sums)


def test_the_matrix_has_the_vendors_links(ascend: tuple[Path, Path]) -> None:
    ours, theirs = (json.loads((place / "communication_matrix.json").read_text("utf-8")) for place in ascend)
    compared = 0
    for step, classes in theirs.items():
        for kind, entries in classes.items():
            assert set(ours[step][kind]) == set(entries)
            for name, cells in entries.items():
                assert set(ours[step][kind][name]) == set(cells), name
                for ends, link in cells.items():
                    mine = ours[step][kind][name][ends]
                    assert set(mine) == set(link)
                    assert mine.get("Op Name") == link.get("Op Name"), (name, ends)
                    assert mine["Transport Type"] == link["Transport Type"]
                    assert mine["Transit Size(MB)"] == pytest.approx(link["Transit Size(MB)"])
                    assert mine["Transit Time(ms)"] == pytest.approx(link["Transit Time(ms)"], abs=0.001)
                    compared += 1
    assert compared > 30


def _run(directory: Path) -> Any:
    start = 1_794_713_980_136_243_253
    kernels = [
        {"kind": "kernel", "name": "gemm", "operator": "aten::mm", "core": "GPU", "step": 4, "start_ns": start},
        {
            "kind": "kernel",
            "name": "relu",
            "operator": "aten::relu",
            "core": "GPU",
            "step": 5,
            "start_ns": start + 1000,
        },
        {"kind": "copy", "name": "Memcpy HtoD", "step": 5, "start_ns": start + 500},
    ]
    marks = [
        {"step": step, "host_start_ns": start + (step - 4) * 1000, "host_end_ns": start + (step - 3) * 1000}
        | {"marks_from": "profiler_step"}
        for step in (4, 5)
    ]
    slices = [{**row, "dur_ns": 101, "track": 1, "stream": 7} for row in kernels]
    about = [{"rank": 0, "device_kind": "gpu", "framework": "pytorch", "level": "Level1"}]
    return make_store(
        directory, slices=slices, steps=marks, ranks=about, tracks=[{"track": 1, "kind": "stream", "name": "7"}]
    )


def test_times_are_exact_text_and_a_copy_is_no_kernel(tmp_path: Path) -> None:
    deliver(_run(tmp_path / "store"), 0, tmp_path / "out")
    first, second = _rows(tmp_path / "out" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    assert first["Start Time(us)"] == "1794713980136243.253\t"
    assert (first["Name"], first["Type"], first["Duration(us)"]) == ("gemm", "aten::mm", "0.101")
    assert second["Wait Time(us)"] == "0.899"
    assert [first["Step Id"], second["Step Id"]] == ["4", "5"]


def test_only_wanted_steps_are_written(tmp_path: Path) -> None:
    deliver(_run(tmp_path / "store"), 0, tmp_path / "out", steps=[5])
    out = tmp_path / "out" / "ASCEND_PROFILER_OUTPUT"
    assert [row["Step Id"] for row in _rows(out / "kernel_details.csv")] == ["5"]
    assert [row["Step"] for row in _rows(out / "step_trace_time.csv")] == ["5"]


def test_what_no_source_carries_is_not_written(tmp_path: Path) -> None:
    written = {path.name for path in deliver(_run(tmp_path / "store"), 0, tmp_path / "out")}
    assert written == {"kernel_details.csv", "step_trace_time.csv", "op_statistic.csv", "trace_view.json"}
    assert {path.name for path in (tmp_path / "out" / "ASCEND_PROFILER_OUTPUT").iterdir()} == written


def test_the_timeline_has_the_documented_processes_and_lanes(tmp_path: Path) -> None:
    deliver(_run(tmp_path / "store"), 0, tmp_path / "out")
    events = json.loads((tmp_path / "out" / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text("utf-8"))
    processes = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
    assert {"Python", "Ascend Hardware", "Overlap Analysis"} == set(processes), "none without content"
    markers = [event["name"] for event in events if event["ph"] == "X" and event["pid"] == processes["Python"]]
    assert markers == ["ProfilerStep#4", "ProfilerStep#5"]
    lanes = [event for event in events if event["ph"] == "X" and event["pid"] == processes["Overlap Analysis"]]
    assert sum(event["dur"] for event in lanes if event["name"] == "Computing") == pytest.approx(0.202)
    assert sum(event["dur"] for event in lanes if event["name"] == "Free") == pytest.approx(0.899)


def test_the_database_holds_what_the_text_files_hold_and_our_own_reader_reads_it_back(tmp_path: Path) -> None:
    from support.samples import SHARED_DATA

    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    run = stepscope.load(SHARED_DATA / "kineto" / "h200_plain.json.gz", progress=False, store=tmp_path / "store")
    about = run.table("ranks").collect().with_columns(switches=pl.lit('{"export_type": ["db"]}'))
    tables: dict[str, Any] = {name: run.table(name).collect() for name in ("slices", "tracks", "steps", "links")}
    store = make_store(tmp_path / "db", ranks=about, **tables)
    capture = tmp_path / "host_1_20261115000000000_ascend_pt"
    written = {path.name for path in deliver(store, 0, capture)}
    assert written == {"ascend_pytorch_profiler_0.db", "analysis.db"}, "db alone means no text"
    (capture / "profiler_info_0.json").write_text('{"rank_id": 0}')
    again = stepscope.load(capture, progress=False, store=tmp_path / "again")
    kernels = "SELECT count(*), sum(dur_ns), min(start_ns) FROM slices WHERE kind = '{}'"
    for kind in ("kernel", "copy"):
        assert again.sql(kernels.format(kind)).rows() == run.sql(kernels.format(kind)).rows(), kind
    assert again.steps()["computing_us"].sum() == pytest.approx(8_381.623)
