"""The tables of a run: every column with its type and meaning, in one place.

``docs/schema.md`` is made from this module (``python -m stepscope.store.schema``), and a test keeps them equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import polars as pl

#: Raised when the meaning or the shape of a table changes; stores of another version are rebuilt.
SCHEMA_VERSION: Final = 10

SLICE_KINDS: Final = (
    "operator",
    "kernel",
    "collective",
    "comm_task",
    "wait",
    "copy",
    "runtime",
    "sync",
    "annotation",
    "module",
    "python",
    "gc",
    "mark",
    "step",
    "overhead",
    "reported",
)

Kind = pl.Enum(SLICE_KINDS)
Name = pl.Categorical()


@dataclass(frozen=True)
class Column:
    name: str
    type: Any
    meaning: str


@dataclass(frozen=True)
class Table:
    """``per_rank`` tables are one file per rank; the others are merged over all ranks of a run."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    per_rank: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return {column.name: column.type for column in self.columns}


def _columns(*columns: tuple[str, Any, str]) -> tuple[Column, ...]:
    return tuple(Column(*column) for column in columns)


_RANK = ("rank", pl.Int32, "worker process, numbered as the job numbers it")
_SLICE = ("slice", pl.UInt32, "id of the slice within its rank: the event's number in its file, so stable")
_STEP = ("step", pl.Int64, "step number; null outside every step")

_TABLES = (
    Table(
        "ranks",
        "One row per rank: who it is, on what it ran, and how its clock relates to the run's.",
        _columns(
            _RANK,
            ("world_size", pl.Int32, "ranks of the whole job, also those not captured"),
            ("host", Name, "host name"),
            ("device_kind", Name, "gpu, npu, tpu or cpu"),
            ("device_name", Name, "product name"),
            ("device_index", pl.Int32, "number of the device on its host"),
            ("memory_capacity", pl.Int64, "device memory in bytes"),
            ("compute_units", pl.Int32, "streaming multiprocessors or AI cores"),
            ("peak_facts", pl.String, "JSON: what the capture says of the device's limits"),
            ("framework", Name, "pytorch, mindspore, jax or null"),
            ("versions", pl.String, "JSON: versions of framework, driver and runtime"),
            ("level", Name, "profiler level"),
            ("switches", pl.String, "JSON: switches of the profiler"),
            ("dp", pl.Int32, "data-parallel coordinate"),
            ("tp", pl.Int32, "tensor-parallel coordinate"),
            ("pp", pl.Int32, "pipeline stage"),
            ("ep", pl.Int32, "expert-parallel coordinate"),
            ("cp", pl.Int32, "context-parallel coordinate"),
            (
                "unrecorded_step_ns",
                pl.Int64,
                "median length of steps in which the recorder was idle, as it timed them; null where it timed none",
            ),
            (
                "clock_base_ns",
                pl.Int64,
                "what was added to the file's own times: start_ns − clock_base_ns is the file's ts",
            ),
            ("clock_offset_ns", pl.Int64, "add to a time of this rank to get the run's clock"),
            ("clock_drift_ppb", pl.Int64, "and this much more per time since first_ns, in parts per billion"),
            ("clock_error_ns", pl.Int64, "how far the offset may be off"),
            ("clock_calls", pl.Int64, "number of collective calls that the estimate rests on"),
            (
                "clock_state",
                Name,
                "reference, aligned, agrees (within the error: nothing to add), or why not: too_few_calls, uncertain, "
                "contradicted; null where there is only one clock",
            ),
            ("first_ns", pl.Int64, "start of the first slice"),
            ("last_ns", pl.Int64, "end of the last slice; marks count only where nothing else is"),
            ("source", pl.String, "file or directory it was read from"),
            (
                "compute_recorded",
                pl.Boolean,
                "false where slices do not show what the device computed, because the files have it in tables only",
            ),
            (
                "calls_until_end",
                pl.Boolean,
                "true where communication calls were recorded up to the end, so that one that is missing was not made",
            ),
            (
                "allocations_overwritten",
                pl.Boolean,
                "true where only the latest allocations and frees were kept, so that earlier ones may be missing",
            ),
            (
                "host_memory_relative",
                pl.Boolean,
                "true where the host's memory is counted from the start of the window and not of the process",
            ),
        ),
    ),
    Table(
        "tracks",
        "Lanes of the timeline.",
        _columns(
            _RANK,
            ("track", pl.Int32, "number within the rank"),
            ("kind", Name, "host, stream, plane, counter, annotation, vendor"),
            ("name", pl.String, "what to show"),
            ("process", pl.String, "process or device it belongs to"),
            ("thread", pl.String, "thread or stream id as the file has it"),
            ("order", pl.Int32, "place from the top"),
        ),
    ),
    Table(
        "slices",
        "Intervals on rows, sorted by track, row and start. Slices of one row never overlap.",
        _columns(
            _RANK,
            _SLICE,
            ("track", pl.Int32, "lane"),
            ("row", pl.Int32, "depth within the lane"),
            ("parent", pl.UInt32, "innermost slice of the lane that contains this one whole"),
            ("start_ns", pl.Int64, "start on the rank's own clock, ns since 1970 where the file tells"),
            ("dur_ns", pl.Int64, "duration"),
            ("name", Name, "name as recorded"),
            ("kind", Kind, "one of: " + ", ".join(SLICE_KINDS)),
            _STEP,
            ("phase", Name, "forward, backward, optimizer, data or capture (recorded into a graph, not executed)"),
            ("correlation", pl.Int64, "id that joins a launch with what it launched"),
            ("stream", pl.Int64, "device stream"),
            ("operator", Name, "framework operator that caused it"),
            ("type", Name, "operator type, or the collective's name"),
            ("core", Name, "what executes it: GPU, AI_CORE, AI_CPU, HOST_CPU …"),
            ("module", Name, "path of network modules around it"),
            ("input_shapes", Name, "as recorded"),
            ("output_shapes", Name, "as recorded"),
            ("dtypes", Name, "input types as recorded"),
            ("formats", Name, "input and output formats"),
            ("bytes", pl.Int64, "bytes moved, where the file tells"),
            ("group", Name, "communication group"),
            ("stack", pl.UInt32, "call stack, see stacks"),
        ),
        per_rank=True,
    ),
    Table(
        "details",
        "The arguments of each slice exactly as the file has them, in file order.",
        _columns(_RANK, _SLICE, ("json", pl.String, "JSON object")),
        per_rank=True,
    ),
    Table(
        "stacks",
        "Call stacks, each stored once per rank.",
        _columns(
            _RANK,
            ("stack", pl.UInt32, "number within the rank"),
            ("frames", pl.String, "outermost first, one per line"),
        ),
        per_rank=True,
    ),
    Table(
        "pmu",
        "Hardware counters of a kernel.",
        _columns(
            _RANK, _SLICE, ("metric", Name, "counter name"), ("value", pl.Float64, "value in the unit of its name")
        ),
        per_rank=True,
    ),
    Table(
        "links",
        "Arrows between slices of one rank.",
        _columns(
            _RANK,
            (
                "kind",
                Name,
                "launch, operator_launch, same_operator, forward_backward, queue, event_wait, send_receive, flow",
            ),
            ("from_slice", pl.UInt32, "cause"),
            ("to_slice", pl.UInt32, "effect"),
        ),
        per_rank=True,
    ),
    Table(
        "counters",
        "Values over time.",
        _columns(
            _RANK,
            ("track", pl.Int32, "lane of the series"),
            ("time_ns", pl.Int64, "moment from which the value holds"),
            ("value", pl.Float64, "in the unit of the series' name"),
        ),
        per_rank=True,
    ),
    Table(
        "steps",
        "One row per rank and step.",
        _columns(
            _RANK,
            ("step", pl.Int64, "step number"),
            ("host_start_ns", pl.Int64, "start of the step's mark on the host"),
            ("host_end_ns", pl.Int64, "its end"),
            ("device_start_ns", pl.Int64, "first start among what the step launched on the device"),
            ("device_end_ns", pl.Int64, "last end among it"),
            ("forward_start_ns", pl.Int64, "start of the first forward device work"),
            ("backward_end_ns", pl.Int64, "end of the last backward device work"),
            ("first_operator", Name, "operator at forward_start_ns"),
            ("last_operator", Name, "operator at backward_end_ns"),
            ("marks_from", Name, "what marked it: profiler_step, step_num, window, …"),
            ("warm_up", pl.Boolean, "left out of averages"),
            ("incomplete", pl.Boolean, "the capture began or ended inside it"),
        ),
    ),
    Table(
        "collectives",
        "Communication calls.",
        _columns(
            _RANK,
            _SLICE,
            ("group", Name, "communication group"),
            ("seq", pl.Int64, "number of the call within its group, where the file tells"),
            ("kind", Name, "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send, receive, …"),
            ("name", Name, "as recorded"),
            _STEP,
            ("start_ns", pl.Int64, "start"),
            ("end_ns", pl.Int64, "end"),
            ("bytes", pl.Int64, "message size, see docs for each kind; null if not recorded"),
            ("dtype", Name, "element type"),
            ("algorithm", Name, "algorithm"),
            ("peer", pl.Int32, "other rank of a point-to-point call"),
            ("stream", pl.Int64, "device stream; null on the host"),
            ("transit_ns", pl.Int64, "time moving data"),
            ("wait_ns", pl.Int64, "time waiting"),
            ("sync_ns", pl.Int64, "waiting before the first transfer"),
            ("idle_ns", pl.Int64, "neither"),
            ("reduce_ns", pl.Int64, "time reducing"),
        ),
    ),
    Table(
        "transfers",
        "What moved between two ranks.",
        _columns(
            _RANK,
            ("peer", pl.Int32, "other end"),
            ("kind", Name, "payload, reduce or wait"),
            ("plane", pl.Int32, "communication plane"),
            ("transport", Name, "HCCS, RDMA, PCIE, SIO, LOCAL, …"),
            ("group", Name, "communication group"),
            ("call", pl.String, "collective it is part of"),
            _STEP,
            ("bytes", pl.Int64, "bytes"),
            ("time_ns", pl.Int64, "time"),
            ("packets", pl.Int64, "number of packets"),
        ),
    ),
    Table(
        "groups",
        "Communication groups.",
        _columns(
            ("group", Name, "id as the calls carry it"),
            ("name", pl.String, "description"),
            ("ranks", pl.List(pl.Int32), "members, in the group's order"),
            ("dimension", Name, "dp, tp, pp, ep, cp or null"),
            ("origin", Name, "where the members are known from"),
            ("confidence", Name, "stated or inferred"),
        ),
    ),
    Table(
        "allocations",
        "Blocks of memory with their life.",
        _columns(
            _RANK,
            ("device", Name, "cpu, cuda:0, npu:0 …"),
            ("pool", Name, "allocator"),
            ("stream", pl.Int64, "stream it was allocated for"),
            ("address", pl.UInt64, "address"),
            ("bytes", pl.Int64, "size of the block"),
            ("requested_bytes", pl.Int64, "size asked for"),
            ("alloc_ns", pl.Int64, "null if before the window"),
            ("free_ns", pl.Int64, "null if alive at the end"),
            ("alloc_seq", pl.Int64, "number of the event, orders what has one time"),
            ("free_seq", pl.Int64, "number of the event"),
            ("before_window", pl.Boolean, "allocated before the capture"),
            ("lost_free", pl.Boolean, "its address was allocated again without a recorded free"),
            ("operator", Name, "operator that allocated it"),
            ("stack", pl.UInt32, "call stack"),
            ("category", Name, "parameter, gradient, activation …"),
        ),
        per_rank=True,
    ),
    Table(
        "segments",
        "Segments that a caching allocator holds.",
        _columns(
            _RANK,
            ("device", Name, "device"),
            ("stream", pl.Int64, "stream"),
            ("address", pl.UInt64, "start"),
            ("bytes", pl.Int64, "size"),
            ("allocated_bytes", pl.Int64, "of it, in blocks that are in use"),
            ("active_bytes", pl.Int64, "of it, in use or waiting for a stream"),
            ("kind", Name, "small, large, expandable"),
        ),
    ),
    Table(
        "memory_events",
        "Out-of-memory and other moments of the allocator.",
        _columns(
            _RANK,
            ("device", Name, "device"),
            ("time_ns", pl.Int64, "moment"),
            ("seq", pl.Int64, "number of the event"),
            ("kind", Name, "oom, segment_alloc, segment_free, …"),
            ("bytes", pl.Int64, "size"),
            ("free_bytes", pl.Int64, "free on the device then"),
            ("stack", pl.UInt32, "call stack"),
        ),
    ),
    Table(
        "memory",
        "Memory in use over time.",
        _columns(
            _RANK,
            ("device", Name, "device"),
            ("component", Name, "allocator or driver module"),
            ("time_ns", pl.Int64, "moment from which the values hold"),
            ("allocated", pl.Int64, "bytes given out"),
            ("reserved", pl.Int64, "bytes held"),
            ("active", pl.Int64, "bytes given out or waiting for a stream"),
        ),
        per_rank=True,
    ),
    Table(
        "pipeline_ops",
        "Stages of the input pipeline.",
        _columns(
            _RANK,
            ("op", pl.Int32, "number of the stage"),
            ("name", pl.String, "name"),
            ("kind", Name, "Batch, Map, Worker, …"),
            ("parent", pl.Int32, "stage that takes its output"),
            ("workers", pl.Int32, "parallel workers"),
            ("capacity", pl.Int64, "length of its output queue"),
            ("sink", pl.Boolean, "whether it feeds the device"),
        ),
    ),
    Table(
        "pipeline_samples",
        "Fill of the pipeline's queues over time.",
        _columns(
            _RANK,
            ("op", pl.Int32, "stage"),
            ("time_ns", pl.Int64, "moment"),
            ("queue", pl.Int64, "elements in its output queue"),
        ),
    ),
    Table(
        "pipeline_batches",
        "Batches as the training loop took them.",
        _columns(
            _RANK,
            ("batch", pl.Int64, "number"),
            _STEP,
            ("get_us", pl.Float64, "time to get it from the pipeline"),
            ("push_us", pl.Float64, "time to push it to the device"),
            ("total_us", pl.Float64, "both"),
            ("queue", pl.Int64, "elements in the queue then"),
            ("capacity", pl.Int64, "length of that queue"),
        ),
    ),
    Table(
        "cpu",
        "Use of processors over time.",
        _columns(
            _RANK,
            ("time_ns", pl.Int64, "end of the interval"),
            ("scope", Name, "machine, process, worker or op"),
            ("id", pl.Int64, "process, worker or stage"),
            ("user", pl.Float64, "share in user mode, 0 to 1 of one core per core used"),
            ("system", pl.Float64, "share in system mode"),
            ("io", pl.Float64, "share waiting for input and output"),
            ("idle", pl.Float64, "share idle"),
            ("runnable", pl.Int64, "runnable threads"),
            (
                "waiting",
                pl.Float64,
                "threads of the process that were ready to run and had no core, mean of the interval",
            ),
            ("context_switches", pl.Int64, "context switches in the interval"),
            ("dur_ns", pl.Int64, "length of the interval, where the source tells it"),
        ),
    ),
    Table(
        "reported",
        "What the vendor's own summaries say, for comparison with ours.",
        _columns(
            _RANK,
            ("file", Name, "file it stands in"),
            _STEP,
            ("key", Name, "row: operator, API, group"),
            ("metric", Name, "column"),
            ("value", pl.Float64, "value in the unit of the metric's name"),
        ),
    ),
    Table(
        "notes",
        "What was dropped, repaired or missing.",
        _columns(
            ("rank", pl.Int32, "rank; null if it concerns the capture as a whole"),
            ("code", Name, "kind of remark; its sentence is in the text catalogue"),
            ("params", pl.String, "JSON: values for the sentence"),
            ("file", pl.String, "file concerned"),
            ("place", pl.String, "where in it, first occurrence"),
            ("count", pl.Int64, "how often"),
        ),
    ),
)

TABLES: Final[dict[str, Table]] = {table.name: table for table in _TABLES}


def conform(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with exactly the table's columns and types; columns it lacks are null.

    >>> conform("details", pl.DataFrame({"slice": [1]})).columns
    ['rank', 'slice', 'json']
    """
    columns = set(frame.columns)
    unknown = columns - set(TABLES[table].schema)
    if unknown:
        raise ValueError(f"table {table} has no column {sorted(unknown)}")
    return frame.select(own if name in columns else none for name, (own, none) in _expressions(table).items())


@cache
def _expressions(table: str) -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """A column in its type, and one without values: made once, not for every rank."""
    return {
        name: (pl.col(name).cast(kind), pl.lit(None, dtype=kind).alias(name))
        for name, kind in TABLES[table].schema.items()
    }


def fitting(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows whose numbers the table's columns can hold.

    >>> fitting("details", pl.DataFrame({"slice": [1, 1 << 40]})).height
    1
    """
    numbers = {name: kind for name, kind in TABLES[table].schema.items() if name in frame.columns and kind.is_numeric()}
    fits = [
        pl.col(name).is_null() | pl.col(name).cast(kind, strict=False).is_not_null() for name, kind in numbers.items()
    ]
    return frame.filter(*fits)


def empty(table: str) -> pl.DataFrame:
    """The table without rows."""
    return _without_rows(table).clone()


@cache
def _without_rows(table: str) -> pl.DataFrame:
    """Made once: every question asks for tables that a capture does not have, of rank after rank."""
    return pl.DataFrame(schema=TABLES[table].schema)


def documentation() -> str:
    """The reference of all tables as Markdown."""
    parts = [
        "# Tables of a run",
        "",
        "Made from `src/stepscope/store/schema.py`; do not edit by hand (`make docs`).",
        "",
        f"Schema version {SCHEMA_VERSION}. Times are int64 nanoseconds, sizes int64 bytes. "
        "A column that a capture cannot fill is null; a table that it cannot fill is empty.",
    ]
    for table in TABLES.values():
        files = "one file per rank" if table.per_rank else "one file per run"
        parts += [
            "",
            f"## {table.name}",
            "",
            f"{table.meaning} ({files})",
            "",
            "| column | type | meaning |",
            "|---|---|---|",
        ]
        parts += [f"| {column.name} | {_type_name(column.type)} | {column.meaning} |" for column in table.columns]
    return "\n".join(parts) + "\n"


def _type_name(kind: Any) -> str:
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        return "text"
    return {"String": "text", "List(Int32)": "list of int32"}.get(str(kind), str(kind).lower())


if __name__ == "__main__":
    print(documentation(), end="")
