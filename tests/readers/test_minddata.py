"""MindSpore's input-pipeline files: hand-made ones, what MindSpore 2.10 wrote on a CPU host, and real samples."""

from __future__ import annotations

import decimal
import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some

from readers.minddata_files import (
    PROCESSORS,
    STAGES,
    only,
    read,
    read_source,
    write_all,
)
from stepscope.readers import minddata
from stepscope.readers.files.numbers import MS, scaled, scaled_column

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mindinsight"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared captures")

# --- numbers ------------------------------------------------------------------------------------------


@given(
    some.lists(some.decimals(0, 10**12, places=12, allow_nan=False) | some.decimals(0, 10**5, places=3), max_size=20)
)
def test_milliseconds_become_nanoseconds_as_decimal_arithmetic_says(values: list[decimal.Decimal]) -> None:
    texts = [f"{value:f}" for value in values]
    context = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN)
    expected = [int(context.to_integral_value(context.multiply(value, decimal.Decimal(10**6)))) for value in values]
    assert scaled_column(pl.Series(texts, dtype=pl.String), MS).to_list() == expected
    assert [scaled(text, MS) for text in texts] == expected


def test_what_is_no_number_becomes_null() -> None:
    words = ["", "nan", "inf", "1e999", "-", "1.2.3", "0x10", None, "99999999999999999999999"]
    assert scaled_column(pl.Series(words, dtype=pl.String), MS).to_list() == [None] * len(words)
    assert scaled_column(pl.Series(["-1.5", "6e-05", "+2"]), MS).to_list() == [-1_500_000, 60, 2_000_000]


# --- batches ------------------------------------------------------------------------------------------


def test_batches_have_their_times_and_the_queue_between(tmp_path: Path) -> None:
    directory = only(write_all(tmp_path / "in"), "device_queue_profiling_3.txt")
    tables, counts, _ = read(directory, tmp_path / "out")
    assert tables["pipeline_batches"].drop("rank", "step").rows() == [
        (1, 2000.0, 4000.0, 6000.0, 0, 64),
        (2, 2000.0, 1000.0, 3000.0, 5, 64),
    ]
    assert tables["counters"].select("time_ns", "value").rows() == [(10_000_000, 0.0), (30_000_000, 5.0)]
    assert tables["tracks"]["name"].to_list() == ["host queue"]
    assert not counts


def test_batches_of_old_files_have_no_time(tmp_path: Path) -> None:
    (tmp_path / "dataset_iterator_profiling_0.txt").write_text("1 64 1 3\n")
    tables, counts, _ = read(tmp_path, tmp_path / "out")
    assert tables["pipeline_batches"].select("batch", "get_us", "queue", "capacity").rows() == [(1, None, 3, 64)]
    assert "counters" not in tables and not counts


def test_a_batch_number_that_comes_again_is_another_batch(tmp_path: Path) -> None:
    (tmp_path / "dataset_iterator_profiling_0.txt").write_text("0 0 1 7 1\n1 8 1 2 1\n0 0 1 9 5\n1 8 1 3 5\n")
    tables, _, _ = read(tmp_path, tmp_path / "out")
    assert tables["pipeline_batches"].select("batch", "get_us", "queue").rows() == [(1, 7000.0, 2), (1, 9000.0, 3)]


def test_odd_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "device_queue_profiling_0.txt").write_text("0 0 1 7 1\nnonsense\n2 0 1 1 1\n0 9 1 1 1\n0 0 1\n")
    tables, counts, _ = read(tmp_path, tmp_path / "out")
    assert tables["pipeline_batches"].height == 1
    assert counts == {"mindspore_rows_dropped": 4}


def test_an_iterator_beside_the_sink_is_kept_apart(tmp_path: Path) -> None:
    directory = only(write_all(tmp_path / "in"), "device_queue_profiling_3.txt", "dataset_iterator_profiling_3.txt")
    tables, counts, _ = read(directory, tmp_path / "out")
    assert tables["pipeline_batches"].height == 2
    assert counts == {"pipeline_second_iterator": 1}
    kept = tables["reported"].select("file", "key", "metric", "value").rows()
    assert kept == [
        ("dataset_iterator_profiling_3.txt", "batch 1", "queue", 3.0),
        ("dataset_iterator_profiling_3.txt", "batch 1", "capacity", 64.0),
    ]


# --- stages -------------------------------------------------------------------------------------------


def test_stages_know_their_parents_queues_and_the_sink(tmp_path: Path) -> None:
    directory = only(write_all(tmp_path / "in"), "pipeline_profiling_3.json")
    tables, counts, _ = read(directory, tmp_path / "out")
    assert tables["pipeline_ops"].drop("rank").rows() == [
        (0, "DeviceQueue(id=0)", "DeviceQueue", None, 1, None, True),
        (1, "Batch(id=1)", "Batch", 0, 2, 16, False),
        (2, "Map(id=2)", "Map", 1, 8, 32, False),
    ]
    # Nothing tells when the samples were taken, so they stand at the interval, and that is said.
    assert counts == {"pipeline_samples_without_time": 6}
    assert tables["pipeline_samples"].filter(pl.col("op") == 1).select("time_ns", "queue").rows() == [
        (0, 0),
        (100_000_000, 4),
        (200_000_000, 8),
    ]
    assert tables["counters"]["value"].to_list() == [0.0, 2.5, 5e-8]


def test_samples_take_the_times_of_the_processor_file(tmp_path: Path) -> None:
    stages = json.loads(json.dumps(STAGES))
    stages["op_info"][1]["metrics"]["output_queue"]["size"] = [1, 2, 3, 4]
    (tmp_path / "pipeline_profiling_0.json").write_text(json.dumps(stages))
    (tmp_path / "minddata_cpu_utilization_0.json").write_text(json.dumps(PROCESSORS))
    tables, counts, _ = read(tmp_path, tmp_path / "out")
    batch = tables["pipeline_samples"].filter(pl.col("op") == 1)
    assert batch["time_ns"].to_list() == [time * 10**6 for time in PROCESSORS["time_stamp"]]
    assert counts["pipeline_samples_without_time"] == 3  # the Map stage has another number of samples


def test_the_csv_alone_gives_the_stages_and_beside_the_json_only_its_averages(tmp_path: Path) -> None:
    alone, _, _ = read(only(write_all(tmp_path / "a"), "minddata_pipeline_raw_3.csv"), tmp_path / "out_a")
    assert alone["pipeline_ops"].select("op", "kind", "parent", "workers", "capacity").rows() == [
        (1, "Batch", 0, 2, 16),
        (2, "Map", 1, 8, 32),
    ]
    assert alone["pipeline_samples"]["queue"].to_list() == [0, 4, 8, 32, 31, 30]
    names = "minddata_pipeline_raw_3.csv", "pipeline_profiling_3.json"
    both, counts, _ = read(only(write_all(tmp_path / "b"), *names), tmp_path / "out_b")
    assert both["pipeline_ops"].height == 3 and "pipeline_files_disagree" not in counts
    usage = both["reported"].filter(pl.col("metric") == "output_queue_usage_rate")
    assert usage.select("key", "value").rows() == [("Batch(id=1)", 0.25), ("Map(id=2)", 0.96875)]


def test_stages_that_two_files_describe_otherwise_are_counted(tmp_path: Path) -> None:
    directory = only(write_all(tmp_path / "in"), "minddata_pipeline_raw_3.csv", "pipeline_profiling_3.json")
    raw = directory / "minddata_pipeline_raw_3.csv"
    raw.write_text(raw.read_text().replace("[0, 4, 8]", "[0, 4, 9]"))
    assert read(directory, tmp_path / "out")[1]["pipeline_files_disagree"] == 1


# --- processors ---------------------------------------------------------------------------------------


def test_processors_as_mindspore_2_10_writes_them(tmp_path: Path) -> None:
    directory = only(write_all(tmp_path / "in"), "minddata_cpu_utilization_3.json")
    tables, counts, notes = read(directory, tmp_path / "out")
    cpu = tables["cpu"].drop("rank").with_columns(pl.col("user", "system", "io", "idle").round(9))
    times = [time * 10**6 for time in PROCESSORS["time_stamp"]]
    # Percentages of the machine times two processors; the first sample is a placeholder; user and system time of the
    # last two samples are lost, because MindSpore cuts a list in which every second value is a zero.
    assert cpu.filter(pl.col("scope") == "machine").drop("scope", "id", "waiting").rows() == [
        (times[1], 1.86, 0.14, 0.0, 0.0, 3, 8481, times[1] - times[0]),
        (times[2], None, None, 0.0, 0.32, 2, 8922, times[2] - times[1]),
        (times[3], None, None, 0.02, 0.88, 4, 8819, times[3] - times[2]),
    ]
    process = cpu.filter(pl.col("scope") == "process").select("time_ns", "user", "system").rows()
    assert process == [(times[1], 0.89, 0.1), (times[2], 0.94, 0.05), (times[3], 1.05, 0.06)]
    op = cpu.filter(pl.col("scope") == "op").select("id", "user", "system").rows()
    assert op == [(1, 0.83, 0.03), (1, 0.86, 0.01), (1, 1.34, 0.06)]
    assert cpu.filter(pl.col("scope") == "worker")["id"].unique().to_list() == [-1]
    assert [(note.code, note.params["lost"]) for note in notes.all()] == [("processor_samples_doubled", 2)]
    assert counts == {"processor_samples_doubled": 2}
    assert tables["counters"].height == 8 and tables["tracks"]["name"].to_list() == [
        "rss_mbytes",
        "total_sys_memory_mbytes",
    ]


def test_processors_of_old_files_are_taken_as_they_are(tmp_path: Path) -> None:
    three = {"user_utilization": [10, 20, 30], "sys_utilization": [10, 20, 30]}
    old = {
        "cpu_processor_num": 100,
        "time_stamp": [10, 20, 30],
        "device_info": {
            **three,
            "io_utilization": [10] * 3,
            "idle_utilization": [10] * 3,
            "runable_processes": [1, 2, 3],
        },
        "process_info": three,
        "op_info": [{"op_id": 1, "metrics": three}],
    }
    (tmp_path / "minddata_cpu_utilization_0.json").write_text(json.dumps(old))
    tables, counts, _ = read(tmp_path, tmp_path / "out")
    machine = tables["cpu"].filter(pl.col("scope") == "machine")
    assert machine.select("time_ns", "user", "runnable").rows() == [
        (10**7, 10.0, 1),
        (2 * 10**7, 20.0, 2),
        (3 * 10**7, 30.0, 3),
    ]
    assert tables["cpu"].height == 9 and not counts


def test_uneven_lists_and_a_missing_count_are_noted(tmp_path: Path) -> None:
    odd = {"time_stamp": [1, 2, 3, 4], "process_info": {"user_utilization": [1], "sys_utilization": [1, 2, 3, 4, 5]}}
    (tmp_path / "minddata_cpu_utilization_0.json").write_text(json.dumps(odd))
    _, counts, _ = read(tmp_path, tmp_path / "out")
    assert counts == {"processor_count_missing": 1, "processor_samples_uneven": 4}


# --- the vendor's own words ---------------------------------------------------------------------------


def test_the_summary_is_reported_and_its_advice_noted(tmp_path: Path) -> None:
    names = "minddata_pipeline_summary_3.json", "minddata_pipeline_summary_3.csv"
    tables, counts, notes = read(only(write_all(tmp_path / "in"), *names), tmp_path / "out")
    assert tables["reported"].select("key", "metric", "value").rows() == [
        ("Batch(id=0)", "num_workers", 2.0),
        ("Map(id=1)", "num_workers", 1.0),
        ("Batch(id=0)", "queue_average_size", 0.0),  # -1 means that Map has no queue
        ("Map(id=1)", "parent_id", 0.0),
        ("Batch(id=0)", "avg_cpu_pct", 0.75),
        ("Map(id=1)", "avg_cpu_pct", 78.88),
        ("pipeline", "per_batch_time", 9.265),
    ]
    assert counts == {"pipeline_advice": 2}  # and the CSV, which says the same, raises nothing
    assert any("prefetch_size" in note.sentence("en") for note in notes.all())
    alone, _, _ = read(only(write_all(tmp_path / "csv"), names[1]), tmp_path / "out_csv")
    assert alone["reported"].drop("file").equals(tables["reported"].drop("file"))


def test_the_dataset_table_is_reported_by_operation_and_stage(tmp_path: Path) -> None:
    directory = only(write_all(tmp_path / "in"), "dataset.csv", "device_queue_profiling_3.txt")
    tables, counts, _ = read(directory, tmp_path / "out")
    assert tables["reported"].select("key", "metric", "value").rows() == [
        ("Map GetBatch", "Occurrences", 4.0),
        ("Map GetBatch", "Avg. time (us)", 12.5),
    ]
    assert not counts


def test_waiting_of_the_device_is_a_slice_and_its_queue_a_sample_of_the_sink(tmp_path: Path) -> None:
    directory = only(write_all(tmp_path / "in"), "minddata_aicpu_3.txt", "pipeline_profiling_3.json")
    tables, _, _ = read(directory, tmp_path / "out")
    assert tables["slices"].select("start_ns", "dur_ns", "kind", "phase").rows() == [
        (154907895305000, 1000, "wait", "data"),
        (154907895614000, 3000, "wait", "data"),
    ]
    assert tables["details"]["json"].to_list() == ['{"queue_size": 3}', '{"queue_size": 0}']
    sink = tables["pipeline_samples"].filter(pl.col("op") == 0)
    assert sink.select("time_ns", "queue").rows() == [(154907895306000, 3), (154907895617000, 0)]


def test_a_pipeline_without_a_sink_gets_one_for_the_devices_queue(tmp_path: Path) -> None:
    (tmp_path / "minddata_getnext_profiling_0.txt").write_text("GetNext 1600000000000000000 1600000000000000500 2\n")
    tables, _, _ = read(tmp_path, tmp_path / "out")
    assert tables["pipeline_ops"].select("op", "name", "sink").rows() == [(-1, "device queue", True)]
    assert tables["slices"]["dur_ns"].to_list() == [500]  # a GPU's file counts nanoseconds


# --- claiming -----------------------------------------------------------------------------------------


def test_each_rank_of_a_directory_is_a_source_of_its_own(tmp_path: Path) -> None:
    names = ["pipeline_profiling_0.json", "pipeline_profiling_10.json", "device_queue_profiling_10.txt", "other.txt"]
    found = minddata.claim(tmp_path, [], names)
    assert found is not None
    assert [(source.rank, [file.name for file in source.files]) for source in found] == [
        (0, ["pipeline_profiling_0.json"]),
        (10, ["device_queue_profiling_10.txt", "pipeline_profiling_10.json"]),
    ]
    assert minddata.claim(tmp_path, ["profiler"], names) is None
    assert minddata.claim(tmp_path, [], ["trace.json", "dataset.csv"]) is None


def test_a_single_file_can_be_named(tmp_path: Path) -> None:
    source = minddata.claim_file(tmp_path / "pipeline_profiling_2.json", b"{}")
    assert source is not None and (source.rank, source.reader) == (2, "minddata")
    assert minddata.claim_file(tmp_path / "pipeline.json", b"{}") is None
    assert minddata.claim_file(tmp_path / "pipeline_profiling_2.json", b"") is None


def test_a_gzipped_file_is_read_as_its_content(tmp_path: Path) -> None:
    (tmp_path / "pipeline_profiling_0.json.gz").write_bytes(gzip.compress(json.dumps(STAGES).encode()))
    tables, _, _ = read(tmp_path, tmp_path / "out")
    assert tables["pipeline_ops"].height == 3 and tables["ranks"].height == 1


# --- real samples -------------------------------------------------------------------------------------


@needs_samples
def test_every_stage_and_sample_of_the_real_files_is_there(tmp_path: Path) -> None:
    for place, file in enumerate(sorted(SAMPLES.rglob("pipeline_profiling_*.json"))):
        source = minddata.claim_file(file, b"{")
        assert source is not None
        tables, _, _ = read_source(source, tmp_path / str(place))
        stages = json.loads(file.read_text())["op_info"]
        sizes = [size for stage in stages for size in (stage["metrics"] or {}).get("output_queue", {}).get("size", [])]
        assert tables["pipeline_ops"].height == len(stages)
        assert tables["pipeline_samples"]["queue"].to_list() == sizes
        parents = {child: stage["op_id"] for stage in stages for child in stage.get("children") or []}
        assert dict(tables["pipeline_ops"].select("op", "parent").drop_nulls().rows()) == parents
