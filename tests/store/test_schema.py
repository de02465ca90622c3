"""The schema: what the design promises is there, with the promised types, and a frame is made to fit or refused."""

from __future__ import annotations

import re

import polars as pl
import pytest

from stepscope.store import schema

# Section 5 of the design, table by table.
_PROMISED = {
    "ranks": "rank world_size host device_kind device_name device_index memory_capacity framework versions level "
    "switches dp tp pp ep cp clock_offset_ns clock_drift_ppb clock_error_ns first_ns last_ns source",
    "tracks": "rank track kind name process thread order",
    "slices": "rank slice track row parent start_ns dur_ns name kind step phase correlation stream operator type core "
    "module input_shapes output_shapes dtypes formats bytes group stack",
    "details": "rank slice json",
    "stacks": "stack frames",
    "pmu": "rank slice metric value",
    "links": "rank kind from_slice to_slice",
    "counters": "rank track time_ns value",
    "steps": "rank step host_start_ns host_end_ns device_start_ns device_end_ns forward_start_ns backward_end_ns "
    "marks_from warm_up incomplete",
    "collectives": "rank slice group seq kind name step start_ns end_ns bytes dtype algorithm peer stream transit_ns "
    "wait_ns sync_ns idle_ns reduce_ns",
    "transfers": "rank peer kind plane transport group call step bytes time_ns packets",
    "groups": "group name ranks dimension origin confidence",
    "allocations": "rank device pool stream address bytes requested_bytes alloc_ns free_ns alloc_seq free_seq "
    "before_window lost_free operator stack category",
    "segments": "rank device stream address bytes",
    "memory_events": "rank device time_ns kind bytes",
    "memory": "rank device component time_ns allocated reserved active",
    "pipeline_ops": "rank op name kind parent workers capacity sink",
    "pipeline_samples": "rank op time_ns queue",
    "pipeline_batches": "rank batch step get_us push_us total_us queue capacity",
    "cpu": "rank time_ns scope id user system io idle runnable waiting context_switches",
    "reported": "rank file step key metric value",
    "notes": "code params file place count",
}

_KINDS = (
    "operator kernel collective comm_task wait copy runtime sync annotation module python gc mark step overhead "
    "reported"
)


def test_every_promised_table_and_column_is_there() -> None:
    assert set(_PROMISED) <= set(schema.TABLES)
    for table, columns in _PROMISED.items():
        assert set(columns.split()) <= set(schema.TABLES[table].schema), table


def test_slice_kinds_are_those_of_the_design() -> None:
    assert list(schema.SLICE_KINDS) == _KINDS.split()


def test_times_and_sizes_are_integers_of_64_bits() -> None:
    for table in schema.TABLES.values():
        for column in table.columns:
            if column.name.endswith(("_ns", "bytes")) or column.name in ("memory_capacity", "allocated", "reserved"):
                assert column.type == pl.Int64, f"{table.name}.{column.name}"


def test_large_tables_are_kept_per_rank() -> None:
    assert all(schema.TABLES[name].per_rank for name in ("slices", "details", "allocations"))
    assert not any(schema.TABLES[name].per_rank for name in ("ranks", "tracks", "steps", "groups", "notes"))


def test_a_table_of_ranks_begins_with_the_rank() -> None:
    for table in schema.TABLES.values():
        if "rank" in table.schema:
            assert table.columns[0].name == "rank"


def test_names_are_snake_case_and_said_once_with_a_meaning() -> None:
    for table in schema.TABLES.values():
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names)), table.name
        for column in table.columns:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name)
            assert column.meaning.strip(), f"{table.name}.{column.name}"
        assert table.meaning.strip(), table.name


def test_a_frame_gets_the_columns_it_lacks_in_the_order_and_types_of_the_table() -> None:
    frame = schema.conform("links", pl.DataFrame({"to_slice": [2], "from_slice": [1], "kind": ["launch"]}))
    assert dict(frame.schema) == schema.TABLES["links"].schema
    assert frame.row(0) == (None, "launch", 1, 2)


def test_a_column_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        schema.conform("links", pl.DataFrame({"colour": ["red"]}))


def test_a_value_that_does_not_fit_is_refused_instead_of_changed() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError):
        schema.conform("links", pl.DataFrame({"from_slice": [-1]}))
    with pytest.raises(pl.exceptions.InvalidOperationError):
        schema.conform("slices", pl.DataFrame({"kind": ["no such kind"]}))


def test_an_empty_table_has_all_its_columns() -> None:
    for name, table in schema.TABLES.items():
        frame = schema.empty(name)
        assert frame.height == 0
        assert frame.columns == [column.name for column in table.columns]


def test_the_reference_names_every_table_and_column() -> None:
    sections = {section.split("\n", 1)[0]: section for section in schema.documentation().split("\n## ")[1:]}
    assert list(sections) == list(schema.TABLES)
    for name, table in schema.TABLES.items():
        rows = re.findall(r"^\| (\w+) \| ([\w ]+) \| (.+) \|$", sections[name], re.MULTILINE)
        assert [(row[0], row[2]) for row in rows[1:]] == [(column.name, column.meaning) for column in table.columns]
