"""The tables of an export as rows of a timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.facts.communication import communication_kernel
from stepscope.facts.nsight import nsight_facts
from stepscope.readers.nsight.recognition import GRAPHS, KERNELS
from stepscope.readers.slices.track_numbers import TrackNumbers
from stepscope.readers.sqlite.database import Database
from stepscope.store.notes import Notes

_THREAD_BITS: Final = 24  # a thread's id below the process's
_THREAD_MASK: Final = (1 << _THREAD_BITS) - 1


@dataclass
class Tables:
    """What one process did, as rows of a timeline, with their tracks."""

    rows: pl.DataFrame
    tracks: TrackNumbers
    devices: list[int]
    base_ns: int


def read_tables(database: Database, process: int | None, notes: Notes, file: str) -> Tables:
    """All that a process did, or all processes where there is but one with kernels."""
    strings = dict(database.frame("StringIds", ["id"], texts=["value"]).drop_nulls().iter_rows())
    tracks = TrackNumbers()
    device = [
        _kernels(database, strings),
        _graphs(database),
        _copies(database, "CUPTI_ACTIVITY_KIND_MEMCPY", ("copyKind", "srcKind", "dstKind")),
        _copies(database, "CUPTI_ACTIVITY_KIND_MEMSET", ()),
        _syncs(database),
    ]
    on_device = pl.concat(device, how="diagonal").filter(_of_process("globalPid", process))
    graphs = on_device.filter(pl.col("graphId").is_not_null()).height
    notes.add("graphs_as_a_whole", file=file, count=graphs)
    host = [_calls(database, strings), _overheads(database, strings), _ranges(database, strings)]
    on_host = pl.concat(host, how="diagonal").filter(_of_process("globalTid", process))
    devices = sorted(on_device["deviceId"].drop_nulls().unique().to_list())
    rows = pl.concat([_on_streams(on_device, tracks), _on_threads(on_host, tracks)], how="diagonal")
    return Tables(rows, tracks, devices, _base(database))


def _of_process(column: str, process: int | None) -> pl.Expr:
    return pl.lit(True) if process is None else (pl.col(column) & pl.lit(~_THREAD_MASK)) == process


def _base(database: Database) -> int:
    """What to add to the session's nanoseconds to have those since 1970."""
    started = database.frame("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs", "systemClockNs"]).drop_nulls()
    return int(started["utcEpochNs"][0] - started["systemClockNs"][0]) if len(started) else 0


def _named(frame: pl.DataFrame, column: str, strings: dict[int, str]) -> pl.DataFrame:
    return frame.with_columns(name=pl.col(column).replace_strict(strings, default=None, return_dtype=pl.String))


_TIMES: Final = ["start", "end"]
_ON_DEVICE: Final = [*_TIMES, "deviceId", "streamId", "correlationId", "globalPid"]


def _kernels(database: Database, strings: dict[int, str]) -> pl.DataFrame:
    rows = _named(database.frame(KERNELS, [*_ON_DEVICE, "demangledName", "shortName"]), "demangledName", strings)
    names = rows["name"].drop_nulls().unique()
    communicating = [name for name in names if communication_kernel().search(name)]
    kind = pl.when(pl.col("name").is_in(communicating)).then(pl.lit("collective")).otherwise(pl.lit("kernel"))
    return rows.with_columns(kind=kind).drop("demangledName", "shortName")


def _graphs(database: Database) -> pl.DataFrame:
    """Launches of CUDA graphs, which nsys records as a whole unless it is asked for their kernels."""
    rows = database.frame(GRAPHS, [*_ON_DEVICE, "graphId"])
    name = pl.format("CUDA graph {}", pl.col("graphId").cast(pl.String).fill_null("?"))
    return rows.with_columns(pl.col("graphId").fill_null(0), name=name, kind=pl.lit("kernel"))


def _copies(database: Database, table: str, kinds: tuple[str, ...]) -> pl.DataFrame:
    rows = database.frame(table, [*_ON_DEVICE, "bytes", *kinds]).with_columns(kind=pl.lit("copy"))
    if not kinds:
        return rows.with_columns(name=pl.lit("Memset"))
    words = {int(number): text for number, text in nsight_facts().copy_kinds.items()}
    name = pl.col("copyKind").replace_strict(words, default="Memcpy", return_dtype=pl.String)
    memory = {int(number): text for number, text in nsight_facts().memory_kinds.items()}
    source, target = (
        pl.col(column).replace_strict(memory, default=None, return_dtype=pl.String) for column in ("srcKind", "dstKind")
    )
    ends = pl.format(" ({} -> {})", source, target).fill_null("")  # as PyTorch's profiler writes it
    return rows.with_columns(name=name + ends).drop(kinds)


def _syncs(database: Database) -> pl.DataFrame:
    rows = database.frame("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", [*_ON_DEVICE, "syncType"])
    words = {int(number): text for number, text in nsight_facts().sync_kinds.items()}
    name = pl.col("syncType").replace_strict(words, default="Sync", return_dtype=pl.String)
    return rows.with_columns(name=name, kind=pl.lit("sync")).drop("syncType")


def _calls(database: Database, strings: dict[int, str]) -> pl.DataFrame:
    rows = database.frame("CUPTI_ACTIVITY_KIND_RUNTIME", [*_TIMES, "globalTid", "correlationId", "nameId"])
    # The version of an entry point: cudaLaunchKernel_v7000.
    named = _named(rows, "nameId", strings).with_columns(pl.col("name").str.replace(r"_v\d+$", ""))
    return named.with_columns(kind=pl.lit("runtime")).drop("nameId")


def _overheads(database: Database, strings: dict[int, str]) -> pl.DataFrame:
    rows = database.frame("CUPTI_ACTIVITY_KIND_OVERHEAD", [*_TIMES, "globalTid", "nameId"])
    return _named(rows, "nameId", strings).with_columns(kind=pl.lit("overhead")).drop("nameId")


def _ranges(database: Database, strings: dict[int, str]) -> pl.DataFrame:
    """Ranges and marks of NVTX; those of PyTorch's emit_nvtx are operators."""
    known = nsight_facts().nvtx
    rows = database.frame("NVTX_EVENTS", [*_TIMES, "eventType", "globalTid", "textId"], texts=["text"])
    rows = rows.filter(pl.col("eventType").is_in([*known.ranges, *known.marks]))
    text = pl.coalesce("text", pl.col("textId").replace_strict(strings, default=None, return_dtype=pl.String))
    told = pl.col("told")
    is_operator = told.str.contains(known.operator).fill_null(False)
    kind = pl.when(pl.col("eventType").is_in(list(known.marks))).then(pl.lit("mark"))
    return (
        rows.with_columns(told=text)
        .with_columns(
            name=pl.when(is_operator).then(told.str.extract(known.operator, 1)).otherwise(told),
            input_shapes=pl.when(is_operator).then(told.str.extract(known.operator, 2)),
            kind=kind.when(is_operator).then(pl.lit("operator")).otherwise(pl.lit("annotation")),
        )
        .drop("eventType", "textId", "text", "told")
    )


def _on_streams(rows: pl.DataFrame, tracks: TrackNumbers) -> pl.DataFrame:
    keys = rows.select("deviceId", "streamId").unique().sort("deviceId", "streamId").rows()
    numbers = [tracks.track("stream", f"stream {stream}", f"GPU {device}", str(stream)) for device, stream in keys]
    own = pl.DataFrame(keys, schema=["deviceId", "streamId"], orient="row").cast(pl.Int64)
    joined = rows.join(
        own.with_columns(track=pl.Series(numbers, dtype=pl.Int64)),
        on=["deviceId", "streamId"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return joined.rename({"streamId": "stream", "correlationId": "correlation"})


def _on_threads(rows: pl.DataFrame, tracks: TrackNumbers) -> pl.DataFrame:
    threads = rows["globalTid"].unique().sort().to_list()
    numbers = {}
    for thread in threads:
        number, process = (0, 0) if thread is None else (thread & _THREAD_MASK, thread >> _THREAD_BITS & _THREAD_MASK)
        numbers[thread] = tracks.track("host", f"thread {number}", f"process {process}", str(number))
    track = pl.col("globalTid").replace_strict(numbers, return_dtype=pl.Int64) if numbers else pl.lit(0, pl.Int64)
    return rows.with_columns(track=track).rename({"correlationId": "correlation"})
