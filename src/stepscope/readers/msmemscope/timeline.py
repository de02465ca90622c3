"""Operators, kernels, ranges and marks of a dump, and Python functions of its trace files, as slices."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.msmemscope import attributes
from stepscope.readers.msmemscope.begin_end import pair
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.nesting import nearest
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

# Event type of a begin: kind of the slice, and the type of its end.
_PAIRED: Final = {
    "ATEN_START": ("operator", "ATEN_END"),
    "ATB_START": ("operator", "ATB_END"),
    "KERNEL_START": ("runtime", "KERNEL_END"),
    "KERNEL_EXECUTE_START": ("kernel", "KERNEL_EXECUTE_END"),
    "RANGE_START": ("annotation", "RANGE_END"),
}
_BEGIN_OF: Final = {end: begin for begin, (_, end) in _PAIRED.items()}
_STEP_RANGE: Final = "step start"
_HOST, _STREAM, _ACCESSES = "host", "stream", "annotation"
_TRACK_NAMES: Final = {_HOST: "thread", _STREAM: "stream", _ACCESSES: "accesses of thread"}

_EMPTY: Final = {
    "row": pl.Int64,
    "track": pl.Int64,
    "time": pl.Int64,
    "dur": pl.Int64,
    "name": pl.String,
    "kind": pl.String,
    "streamId": pl.Int64,
    "taskId": pl.Int64,
    "bytes": pl.Int64,
    "stack": pl.UInt32,
    "access": pl.String,
    "attr": pl.String,
}


class DumpTimeline:
    """Collects slices; tracks are (kind, process or device, thread or stream)."""

    def __init__(self, notes: Notes, file: str) -> None:
        self.notes, self.file = notes, file
        self.tracks = Codes()
        self._parts: list[pl.DataFrame] = [pl.DataFrame(schema=_EMPTY)]
        self._slices: SliceTable | None = None
        self._attr = pl.Series(dtype=pl.String)

    def add_events(self, events: pl.DataFrame) -> None:
        """Rows of a dump other than MALLOC and FREE, in order."""
        launched = events.filter(pl.col("event").is_in(["OP_LAUNCH", "KERNEL_LAUNCH", "MSTX"]))
        paired = pl.col("type").is_in([*_PAIRED, *_BEGIN_OF])
        self._add_pairs(launched.filter(paired))
        self._add_instants(launched.filter(~paired), _HOST)
        self._add_instants(events.filter(pl.col("event") == "SYSTEM"), _HOST)
        self._add_instants(events.filter(pl.col("event") == "ACCESS"), _ACCESSES)

    def add_functions(self, functions: pl.DataFrame) -> None:
        """Rows of Python traces: row, name, start, end, pid, tid."""
        placed = functions.filter(pl.col("start").is_not_null())
        self.notes.add("end_without_begin", file=self.file, count=functions.height - placed.height)
        self.notes.add("begin_without_end", file=self.file, count=placed["end"].null_count())
        last = pl.max_horizontal(pl.col("end").max(), pl.col("start").max()).over("pid", "tid")
        placed = self._on_tracks(placed, _HOST, "pid", "tid").with_columns(
            time="start", dur=pl.col("end").fill_null(last) - pl.col("start"), kind=pl.lit("python")
        )
        self._add(placed)

    def finish(self) -> SliceTable:
        """All slices, nested."""
        rows = pl.concat(self._parts)
        self._parts = []
        distinct = rows["name"].unique(maintain_order=True)
        names = Codes({name: code for code, name in enumerate(distinct.to_list())})
        name = rows["name"].replace_strict(distinct, pl.int_range(len(distinct), eager=True), return_dtype=pl.Int32)
        kind = rows["kind"].replace_strict(KIND, return_dtype=pl.Int8)
        keep, dur = believable(_integers(rows["time"]), _integers(rows["dur"]), self.notes, self.file)
        columns = [_integers(rows["row"]), rows["track"].cast(pl.Int32).to_numpy(), _integers(rows["time"]), dur]
        row, track, start, dur = (values[keep] for values in columns)
        slices = SliceTable(row, track, start, dur, name.to_numpy()[keep], names, kind.to_numpy()[keep])
        for column, ours in (("streamId", "stream"), ("taskId", "correlation"), ("bytes", "bytes"), ("stack", "stack")):
            slices.integers[ours] = _integers(rows[column])[keep]
        accesses = rows["access"].unique(maintain_order=True).drop_nulls()
        codes = rows["access"].replace_strict(accesses, pl.int_range(len(accesses), eager=True), default=-1)
        slices.texts["type"] = codes.fill_null(-1).to_numpy()[keep], accesses.to_list()
        self._attr = rows["attr"].filter(pl.Series(keep))
        self._slices = slices
        return slices

    def operators(self, pid: pl.Series, tid: pl.Series, time: pl.Series) -> pl.Series:
        """Name of the innermost operator on the thread at each moment."""
        slices = self._finished()
        if not len(slices) or not len(time):
            return pl.Series([None] * len(time), dtype=pl.String)
        pairs = zip(pid.to_list(), tid.to_list(), strict=True)
        track = np.array([self.tracks.get((_HOST, *pair), NONE) for pair in pairs], np.int32)
        holder = slices.nesting.containing(track, time.to_numpy())
        owner = nearest(slices.parent, slices.is_kind("operator"))
        operator = np.where(holder == NONE, NONE, owner[holder])
        names = pl.Series(slices.names.texts(), dtype=pl.String)
        code = pl.Series(np.where(operator == NONE, NONE, slices.name[operator]).astype(np.int64))
        return names.gather(code.set(code < 0, None))

    def write(self, out: RankWriter) -> None:
        """Into ``slices``, ``tracks``, ``links`` and ``details``."""
        slices = self._finished()
        slices.write(out)
        out.add("links", _launches(slices))
        told = pl.DataFrame({"slice": slices.id, "attr": self._attr}).filter(pl.col("attr").str.len_bytes() > 2)
        texts = [msgspec.json.encode(attributes.parse(text)).decode() for text in told["attr"].to_list()]
        out.add("details", pl.DataFrame({"slice": told["slice"], "json": pl.Series(texts, dtype=pl.String)}))
        used = set(np.unique(slices.track).tolist())
        rows = [
            {
                "track": number,
                "kind": kind,
                "name": f"{_TRACK_NAMES[kind]} {thread}",
                "process": f"process {process}" if kind != _STREAM else str(process),
                "thread": str(thread),
            }
            for (kind, process, thread), number in self.tracks.items()
            if number in used
        ]
        rows.sort(key=lambda row: (row["kind"] == _STREAM, row["process"], row["kind"] != _HOST, row["track"]))
        out.add("tracks", pl.DataFrame([{**row, "order": order} for order, row in enumerate(rows)]))

    def _finished(self) -> SliceTable:
        return self._slices if self._slices is not None else self.finish()

    def _add(self, rows: pl.DataFrame) -> None:
        missing = [pl.lit(None, kind).alias(name) for name, kind in _EMPTY.items() if name not in rows.columns]
        self._parts.append(rows.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in _EMPTY.items()))

    def _on_tracks(self, rows: pl.DataFrame, kind: str, process: str, thread: str) -> pl.DataFrame:
        """The rows with the number of their track."""
        tracks = rows.select(process, thread).unique(maintain_order=True)
        numbers = [self.tracks[kind, *track] for track in tracks.iter_rows()]
        tracks = tracks.with_columns(track=pl.Series(numbers, dtype=pl.Int64))
        return rows.join(tracks, on=[process, thread], how="left", nulls_equal=True, maintain_order="left")

    def _add_pairs(self, rows: pl.DataFrame) -> None:
        """Begins and ends; kernels run on their stream, all else on its thread."""
        rows = attributes.columns(rows, ("streamId", "taskId")).with_columns(
            family=pl.col("type").replace(_BEGIN_OF), device=pl.col("device").fill_null("npu")
        )
        executes = pl.col("type").str.contains("EXECUTE", literal=True)
        on_stream = self._on_tracks(rows.filter(executes), _STREAM, "device", "streamId")
        on_thread = self._on_tracks(rows.filter(~executes), _HOST, "pid", "tid")
        for part, keys in ((on_stream, ["family", "track", "taskId"]), (on_thread, ["family", "track"])):
            if part.is_empty():
                continue
            groups = part.select(keys).unique(maintain_order=True).with_row_index("group")
            keyed = part.join(groups, on=keys, how="left", nulls_equal=True, maintain_order="left")
            begins = keyed["type"].is_in(list(_PAIRED)).to_list()
            pairs = pair(keyed["group"].to_list(), begins, keyed["name"].to_list(), keyed["time"].to_list())
            self.notes.add("end_without_begin", file=self.file, count=pairs.unmatched)
            self.notes.add("begin_without_end", file=self.file, count=pairs.open)
            last = keyed.select(pl.col("time").max().over("track"))["time"]
            begins_of_pairs = pl.Series(pairs.begin, dtype=pl.UInt32)
            end = pl.Series(pairs.end_ns, dtype=pl.Int64).fill_null(last.gather(begins_of_pairs))
            kinds = pl.col("type").replace_strict({begin: kind for begin, (kind, _) in _PAIRED.items()})
            is_step = (pl.col("type") == "RANGE_START") & (pl.col("name") == _STEP_RANGE)
            chosen = keyed[begins_of_pairs].with_columns(
                dur=end - pl.col("time"), kind=pl.when(is_step).then(pl.lit("step")).otherwise(kinds)
            )
            self._add(chosen)

    def _add_instants(self, rows: pl.DataFrame, kind: str) -> None:
        """Marks on the thread's track, or on one of their own; a launch is a call without a length."""
        nameless = pl.col("name").is_in(["", "N/A"])  # what the process as a whole does has only a type
        step = pl.col("type") == "STEP"
        label = pl.when(nameless).then("type").when(step).then("STEP " + pl.col("name")).otherwise("name")
        launch = pl.col("type") == "KERNEL_LAUNCH"
        more: dict[str, Any] = {"bytes": "size", "access": "type"} if kind == _ACCESSES else {}
        rows = attributes.columns(rows, ("streamId", "taskId", "size")).with_columns(
            name=label, dur=pl.lit(0), kind=pl.when(launch).then(pl.lit("runtime")).otherwise(pl.lit("mark")), **more
        )
        self._add(self._on_tracks(rows, kind, "pid", "tid"))


def _integers(series: pl.Series) -> Int64s:
    return series.cast(pl.Int64).fill_null(NULL).to_numpy()


def _launches(slices: SliceTable) -> pl.DataFrame:
    """From the call that launched a kernel to the kernel; numbers of tasks repeat, so they are taken in order."""
    stream, task = slices.integers["stream"], slices.integers["correlation"]
    known = (stream != NULL) & (task != NULL)
    tasks = pl.DataFrame({"id": slices.id, "start": slices.start, "stream": stream, "task": task})
    key = ["stream", "task", "nth"]
    nth = pl.int_range(pl.len()).over("stream", "task").alias("nth")
    calls, kernels = (
        tasks.filter(pl.Series(known & slices.is_kind(kind))).sort("start", "id").with_columns(nth)
        for kind in ("runtime", "kernel")
    )
    joined = kernels.join(calls, on=key, how="inner", suffix="_call", maintain_order="left")
    return joined.select(kind=pl.lit("launch"), from_slice="id_call", to_slice="id")
