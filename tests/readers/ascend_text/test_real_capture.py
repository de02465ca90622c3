"""A real capture: every event, row and cell of it, against the vendor's files."""

from __future__ import annotations

import collections
import csv
import decimal
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers.ascend_builder import (
    Tables,
    read_directory,
)
from support.samples import SHARED_DATA

SHARED = SHARED_DATA / "ascend" / "text_level1"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="needs the shared captures")


def nanoseconds(microseconds: Any) -> int:
    exact = decimal.Decimal(str(microseconds)) * 1000
    return int(exact.to_integral_value(decimal.ROUND_HALF_EVEN))


@pytest.fixture(scope="module", params=[0, 1], ids=["rank0", "rank1"])
def directory(request: pytest.FixtureRequest) -> Path:
    return SHARED / f"rank{request.param}_ascend_pt"


@pytest.fixture(scope="module")
def output(directory: Path) -> Path:
    return directory / "ASCEND_PROFILER_OUTPUT"


@pytest.fixture(scope="module")
def found(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return read_directory(directory, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def events(output: Path) -> list[dict[str, Any]]:
    text = (output / "trace_view.json").read_text("utf-8")
    loaded: list[dict[str, Any]] = json.loads(text, parse_float=decimal.Decimal)
    return loaded


@needs_shared
class TestSharedCapture:
    def table(self, output: Path, name: str) -> list[dict[str, str]]:
        with (output / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_every_event_is_there_exactly(self, found: Tables, events: list[dict[str, Any]]) -> None:
        slices = {row["slice"]: row for row in found["slices"].rows(named=True)}
        details = dict(found.rows("details", "slice", "json"))
        complete = {place: event for place, event in enumerate(events) if event["ph"] == "X"}
        assert slices.keys() == complete.keys()
        for place, event in complete.items():
            row = slices[place]
            assert (row["start_ns"], row["dur_ns"], row["name"]) == (
                nanoseconds(event["ts"]),
                nanoseconds(event["dur"]),
                event["name"],
            )
            if event.get("args"):
                assert json.loads(details[place], parse_float=decimal.Decimal) == event["args"]
        samples = sorted(
            (nanoseconds(event["ts"]), float(value))
            for event in events
            if event["ph"] == "C"
            for key, value in event["args"].items()
            if key != "acc_id"
        )
        assert samples == sorted(found.rows("counters", "time_ns", "value"))
        assert len(complete) + len(samples) + sum(event["ph"] in "sfM" for event in events) == len(events)

    def test_every_arrow_is_bound_as_brute_force_binds_it(self, found: Tables, events: list[dict[str, Any]]) -> None:
        lanes: dict[Any, list[tuple[int, int, int]]] = collections.defaultdict(list)
        for place, event in enumerate(events):
            if event["ph"] == "X":
                begin = nanoseconds(event["ts"])
                lanes[event["pid"], event["tid"]].append((begin, begin + nanoseconds(event["dur"]), place))

        def holder(event: dict[str, Any]) -> int:
            moment = nanoseconds(event["ts"])
            around = [
                (begin, begin - end, place)
                for begin, end, place in lanes[event["pid"], event["tid"]]
                if begin <= moment < end or begin == moment == end
            ]
            return max(around)[2]

        kinds = {
            "HostToDevice": "launch",
            "async_npu": "operator_launch",
            "async_task_queue": "queue",
            "fwdbwd": "forward_backward",
        }
        starts = {(event["cat"], event["id"]): holder(event) for event in events if event["ph"] == "s"}
        expected = collections.Counter(
            (kinds[event["cat"]], starts[event["cat"], event["id"]], holder(event))
            for event in events
            if event["ph"] == "f"
        )
        assert expected.total() == 611
        calls = {
            event["args"]["connection_id"]: place
            for place, event in enumerate(events)
            if event["ph"] == "X" and "level" in event.get("args", {})
        }
        copies = {}
        for place, event in enumerate(events):
            own = event.get("args", {})
            if event["ph"] == "X" and "Task Type" in own:
                copies[event["ts"], own["Physic Stream Id"], own["Task Id"], own["Subtask Id"]] = place
        on_planes = {}  # the task on a plane, by the copy on its stream
        for place, event in enumerate(events):
            own = event.get("args", {})
            if event["ph"] == "X" and "task type" in own:
                on_planes[copies[event["ts"], own["stream id"], own["task id"], own["context id"]]] = place
        launched = {end for kind, _, end in expected if kind == "launch"}
        for copy in set(copies.values()) - launched:
            call = calls.get(events[copy]["args"]["connection_id"])
            if call is not None:
                expected["launch", call, on_planes.get(copy, copy)] += 1
        assert collections.Counter(found.rows("links", "kind", "from_slice", "to_slice")) == expected
        assert expected.total() == 611 + 26 + 296

    def test_every_kernel_row_is_on_its_slice(self, found: Tables, output: Path) -> None:
        rows = self.table(output, "kernel_details.csv")
        counters: dict[int, dict[str, float]] = collections.defaultdict(dict)
        for number, metric, value in found.rows("pmu", "slice", "metric", "value"):
            counters[number][metric] = value
        by_name = collections.defaultdict(list)
        for slice_ in found["slices"].filter(pl.col("kind").is_in(["kernel", "collective"])).rows(named=True):
            by_name[slice_["name"]].append(slice_)
        assert sum(map(len, by_name.values())) == len(rows) == 191
        metrics = list(rows[0])[list(rows[0]).index("Context ID") + 1 :]
        for row in rows:
            start = nanoseconds(row["Start Time(us)"].strip())
            [slice_] = [each for each in by_name[row["Name"]] if abs(each["start_ns"] - start) <= 1]
            assert (slice_["type"], slice_["core"]) == (row["Type"], row["Accelerator Core"])
            assert slice_["step"] == int(row["Step Id"])
            assert (slice_["input_shapes"] or "N/A") in (row["Input Shapes"].strip('"') or "N/A", "N/A")
            for metric in [*metrics, "Block Dim", "Wait Time(us)"]:
                if row[metric] != "N/A":
                    assert counters[slice_["slice"]][metric] == float(row[metric])
        assert not found.count("ascend_kernel_unmatched")

    def test_kernel_times_sum_up_to_the_vendors_statistics(self, found: Tables, output: Path) -> None:
        kernels = found["slices"].filter(pl.col("kind") == "kernel")
        ours = kernels.group_by("type", "core").agg(pl.len(), total=pl.col("dur_ns").sum() / 1000)
        expected = {(row["OP Type"], row["Core Type"]): row for row in self.table(output, "op_statistic.csv")}
        assert ours.height == len(expected)
        for kind, core, count, total in ours.rows():
            assert count == int(expected[kind, core]["Count"])
            assert total == pytest.approx(float(expected[kind, core]["Total Time(us)"]), abs=0.0011 * count)

    def test_operators_are_counted_as_the_vendor_counts_them(self, found: Tables, output: Path) -> None:
        rows = self.table(output, "operator_details.csv")
        operators = found["slices"].filter(pl.col("kind") == "operator")
        expected = collections.Counter(row["Name"] for row in rows)
        assert dict(operators.group_by("name").len().rows()) == dict(expected)
        told = found["reported"].filter((pl.col("file") == "operator_details.csv") & (pl.col("metric") == "Count"))
        assert dict(told.select("key", "value").rows()) == dict(expected)
        assert told["value"].sum() == len(rows) == 859

    def test_memory_is_there_to_the_byte(self, found: Tables, output: Path) -> None:
        record = self.table(output, "memory_record.csv")
        modules = self.table(output, "npu_module_mem.csv")
        expected = [
            (
                nanoseconds(row["Timestamp(us)"].strip()),
                row["Component"],
                decimal.Decimal(row["Total Reserved(MB)"]) * 2**20,
            )
            for row in record
        ] + [
            (
                nanoseconds(row["Timestamp(us)"].strip()),
                f"module {row['Component']}",
                decimal.Decimal(row["Total Reserved(MB)"]) * 2**20,
            )
            for row in modules
        ]
        assert sorted(found.rows("memory", "time_ns", "component", "reserved")) == sorted(expected)
        blocks = self.table(output, "operator_memory.csv")
        assert found.rows("allocations", "operator", "bytes", "alloc_ns", "free_ns") == [
            (
                row["Name"],
                int(decimal.Decimal(row["Size(KB)"]) * 1024),
                nanoseconds(row["Allocation Time(us)"].strip()),
                nanoseconds(row["Release Time(us)"].strip()) if row["Release Time(us)"].strip() else None,
            )
            for row in blocks
        ]
        assert found["allocations"]["free_ns"].null_count() == 24

    def test_cache_rows_are_on_their_kernels(self, found: Tables, output: Path) -> None:
        rows = self.table(output, "l2_cache.csv")
        name = dict(found.rows("slices", "slice", "name"))
        rates = found["pmu"].filter(pl.col("metric") == "L2 Victim Rate")
        assert len(rows) == rates.height == 179
        assert sorted(
            (name[number], value) for number, _, value in rates.select("slice", "metric", "value").rows()
        ) == sorted((row["Op Name"], float(row["Victim Rate"])) for row in rows)

    def test_every_cell_of_the_summaries_is_reported(self, found: Tables, output: Path) -> None:
        reported = {
            (row["file"], row["key"], row["metric"]): row["value"] for row in found["reported"].rows(named=True)
        }
        keys = {
            "op_statistic.csv": ("OP Type", "Core Type"),
            "api_statistic.csv": ("Level", "API Name"),
            "step_trace_time.csv": (),
        }
        for file, columns in keys.items():
            rows = self.table(output, file)
            for row in rows:
                key = "@".join(row[column] for column in columns) or None
                for metric, text in row.items():
                    if metric not in (*columns, "Step"):
                        assert reported.pop((file, key, metric)) == float(text)
        calls = json.loads((output / "communication.json").read_text())["step50"]["collective"]
        for call, told in calls.items():
            for metric, value in told["Communication Time Info"].items():
                if metric != "Start Timestamp(us)":
                    assert reported.pop(("communication.json", call, metric)) == value
            for transport, band in told["Communication Bandwidth Info"].items():
                packets = band.pop("Size Distribution")
                for metric, value in band.items() if any(band.values()) else ():
                    assert reported.pop(("communication.json", call, f"{transport} {metric}")) == value
                for size, (count, time) in packets.items():
                    assert reported.pop(("communication.json", call, f"{transport} {size} MB packets")) == count
                    assert reported.pop(("communication.json", call, f"{transport} {size} MB packets time(ms)")) == time
        matrix = json.loads((output / "communication_matrix.json").read_text())["step50"]["collective"]
        for call, links in matrix.items():
            for link, told in links.items():
                for metric in ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)"):
                    assert reported.pop(("communication_matrix.json", call, f"{link} {metric}")) == told[metric]
        assert {file for file, *_ in reported} == {"operator_details.csv"}

    def test_planes_blame_rank_5_as_the_sheet_says(self, found: Tables) -> None:
        waits = found["transfers"].filter(pl.col("kind") == "wait").group_by("peer").agg(pl.col("time_ns").sum())
        worst = waits.sort("time_ns").rows()[-1]
        assert worst[0] == 5
        assert 92e6 < worst[1] < 102e6

    def test_transfers_agree_with_the_vendors_matrix(self, found: Tables, output: Path) -> None:
        [(_, links)] = [
            (call, links)
            for call, links in json.loads((output / "communication_matrix.json").read_text())["step50"][
                "collective"
            ].items()
            if "-total@" in call
        ]
        moved = found["transfers"].filter((pl.col("kind") != "wait") & (pl.col("transport") == "HCCS"))
        ours = {
            peer: (size, time)
            for peer, size, time in moved.group_by("peer").agg(pl.col("bytes").sum(), pl.col("time_ns").sum()).rows()
        }
        theirs = {
            int(link.split("-")[1]): (told["Transit Size(MB)"], told["Transit Time(ms)"])
            for link, told in links.items()
            if told["Transport Type"] == "HCCS"
        }
        assert ours.keys() == theirs.keys()
        for peer, (size, time) in theirs.items():
            assert ours[peer][0] == pytest.approx(size * 1e6, abs=1)
            assert ours[peer][1] == pytest.approx(time * 1e6, abs=10)

    def test_overlap_lanes_are_reported_and_duplicates_counted_once(self, found: Tables) -> None:
        kinds = dict(found["slices"].group_by(pl.col("kind").cast(pl.String)).len().rows())
        assert kinds["reported"] == 382 + 296  # the vendor's lanes, and stream copies of plane tasks
        assert found.count("ascend_task_shown_twice") == 296
        assert kinds["collective"] == 4
        assert kinds["wait"] == 112 + 10  # on planes, and event waits on streams
        vendor = found["tracks"].filter(pl.col("kind") == "vendor")["name"].to_list()
        assert sorted(vendor) == ["Communication", "Communication(Not Overlapped)", "Computing", "Free"]

    def test_nothing_else_is_noted(self, found: Tables) -> None:
        codes = {note.code for note in found.notes.all()}
        assert codes == {"ascend_task_shown_twice", "ascend_columns_unused", "ascend_task_unlaunched"}
        assert found.count("ascend_task_unlaunched") == 2
