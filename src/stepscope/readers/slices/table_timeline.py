"""A timeline out of tables: rows of calls, ranges and device work as slices, with launches, operators and steps.

For tools that write what they recorded table by table: Nsight Systems, rocprofv3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int8s, Int32s, Int64s
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.kernel_types import kernel_types
from stepscope.readers.slices.named_collectives import named_collectives
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.slices.step_names import step_names
from stepscope.readers.slices.step_of_slices import step_of_slices
from stepscope.readers.slices.steps import Steps, extent, told_apart, whole_window, with_device_work
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.nesting import nearest
from stepscope.store.notes import Notes

#: Columns of the rows; what a table lacks is null. Times are nanoseconds, kinds are those of slices.
COLUMNS: Final[dict[str, Any]] = {
    "start": pl.Int64,
    "end": pl.Int64,
    "name": pl.String,
    "kind": pl.String,
    "track": pl.Int64,
    "stream": pl.Int64,
    "bytes": pl.Int64,
    "correlation": pl.Int64,
    "input_shapes": pl.String,
}


@dataclass
class TableTimeline:
    """What one process did."""

    slices: SliceTable
    correlation: Int64s
    device_work: Bools
    steps: Steps


def timeline_of_rows(rows: pl.DataFrame, base_ns: int, notes: Notes, file: str) -> TableTimeline:
    """The rows as slices, numbered in their order; ``base_ns`` is added to all times."""
    rows = rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in COLUMNS.items()
    )
    start = rows["start"].fill_null(NULL).to_numpy()
    length = (rows["end"] - rows["start"]).fill_null(0).to_numpy()
    keep, length = believable(np.where(start == NULL, NULL, start + base_ns), length, notes, file)
    chosen = rows.filter(pl.Series(keep))
    slices = _slice_table(chosen, np.flatnonzero(keep), start[keep] + base_ns, length[keep])
    slices.integers = {name: chosen[name].fill_null(NULL).to_numpy() for name in ("stream", "bytes")}
    shapes = Codes()
    slices.texts["input_shapes"] = (_coded(chosen["input_shapes"], shapes), shapes.texts())
    work = slices.is_kind("kernel", "collective", "copy")
    return TableTimeline(slices, chosen["correlation"].fill_null(NULL).to_numpy(), work, pytorch.marked_steps(slices))


def write_timeline(timeline: TableTimeline, about: dict[str, Any], reading: Reading) -> None:
    """Write the slices with all that follows from them; ``about`` are the columns of the rank that the tables tell."""
    slices, file = timeline.slices, reading.source.path.name
    launch = _launches(timeline)
    _write_launches(slices, launch, reading)
    operator = np.append(nearest(slices.parent, slices.is_kind("operator")), NONE)[launch]
    phase = pytorch.phases(slices, launch)
    steps = told_apart(timeline.steps, reading.notes, file)
    if not len(steps.number):
        steps = whole_window(slices, reading.notes, file, launch)
    step = step_of_slices(steps, slices, launch, timeline.device_work)
    forward, backward = phase == pytorch.FORWARD, phase == pytorch.BACKWARD
    rows = with_device_work(steps, slices, step, timeline.device_work, forward, backward, operator)
    reading.out.add("steps", rows)
    slices.integers |= {"step": step, "correlation": timeline.correlation}
    slices.texts |= {
        "phase": (phase, list(pytorch.PHASES)),
        "operator": (np.where(operator == NONE, -1, slices.name[operator]), slices.names.texts()),
        "core": (np.where(timeline.device_work, 0, -1), ["GPU"]),
        "type": kernel_types(slices, timeline.device_work),
    }
    reading.out.add("collectives", named_collectives(slices))
    slices.write(reading.out)
    first, last = extent(slices)
    framework = "pytorch" if slices.is_kind("operator").any() else None
    reading.out.add("ranks", pl.DataFrame([{"framework": framework} | about | {"first_ns": first, "last_ns": last}]))


def _launches(timeline: TableTimeline) -> Int64s:
    """For each slice of a device the position of the call with its correlation, else NONE."""
    slices, correlation = timeline.slices, timeline.correlation
    calls = np.flatnonzero(slices.is_kind("runtime"))
    calls = calls[np.lexsort((slices.start[calls], correlation[calls]))]
    ids = correlation[calls]
    launch = np.full(len(slices), NONE, np.int64)
    if len(ids):
        work = np.flatnonzero(timeline.device_work)
        index = np.minimum(np.searchsorted(ids, correlation[work]), len(ids) - 1)
        fits = ids[index] == correlation[work]
        launch[work[fits]] = calls[index[fits]]
    return launch


def _write_launches(slices: SliceTable, launch: Int64s, reading: Reading) -> None:
    launched = np.flatnonzero(launch != NONE)
    kind = pl.Series(["launch"] * len(launched), dtype=pl.String)
    ids = {"from_slice": slices.id[launch[launched]], "to_slice": slices.id[launched]}
    reading.out.add("links", pl.DataFrame({"kind": kind, **ids}))


def _slice_table(rows: pl.DataFrame, ids: Int64s, start: Int64s, length: Int64s) -> SliceTable:
    names = Codes()
    name = _coded(rows["name"].fill_null("?"), names)
    by_kind = rows["kind"].replace_strict(KIND, return_dtype=pl.Int8).to_numpy()
    kind = _with_steps(by_kind.copy(), name, names)
    return SliceTable(ids, rows["track"].cast(pl.Int32).to_numpy(), start, length, name, names, kind)


def _coded(texts: pl.Series, codes: Codes) -> Int32s:
    distinct = texts.drop_nulls().unique(maintain_order=True).to_list()
    numbers = {text: codes[text] for text in distinct}
    if not numbers:
        return np.full(len(texts), -1, np.int32)
    return texts.replace_strict(numbers, default=-1, return_dtype=pl.Int32).to_numpy()


def _with_steps(kind: Int8s, name: npt.NDArray[Any], names: Codes) -> Int8s:
    """Ranges that mark steps, in the first spelling that occurs."""
    ranges = kind == KIND["annotation"]
    words = [text or "" for text in names.texts()] or [""]
    used = np.zeros(len(words), np.bool_)
    used[name[ranges]] = True
    kind[ranges & step_names(words, used)[name]] = KIND["step"]
    return kind
