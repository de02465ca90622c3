"""PyTorch profiler (Kineto) traces, of all versions and devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.errors import UnreadableInputError
from stepscope.readers.files.reading import Reading
from stepscope.readers.kineto import collectives as communication
from stepscope.readers.kineto import identity, meaning
from stepscope.readers.kineto.arguments import ArgumentColumns
from stepscope.readers.kineto.categories import kind_of_category
from stepscope.readers.kineto.memory import MemoryEvents
from stepscope.readers.kineto.places import Places
from stepscope.readers.kineto.recognition import claim_file
from stepscope.readers.reader import claims_no_directory as claim
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.flows import flow_links
from stepscope.readers.slices.kernel_types import kernel_types
from stepscope.readers.slices.series import CounterEvents
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.slices.step_of_slices import step_of_slices
from stepscope.readers.slices.steps import ChooseSteps, extent, told_apart, whole_window, with_device_work
from stepscope.readers.slices.tracks import kinds_of_tracks, track_rows
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import EventColumns, details
from stepscope.readers.trace_json.trace_text import TraceText
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

__all__ = ["claim", "claim_file", "read"]

# Launches are joined by correlation; these arrows say the same, but every call has an end, launched or not.
_UNUSED_FLOWS: Final = ("ac2g", "async_cpu_to_gpu", "async_gpu")
_FLOW_KINDS: Final = {"fwdbwd": "forward_backward", "forward_backward": "forward_backward"}


def read(
    reading: Reading,
    choose_steps: ChooseSteps | None = None,
) -> None:
    """Read one trace file of one rank into the tables of ``out``.

    ``choose_steps`` is for a capture that knows its steps from elsewhere: it is given those that the trace marks.
    """
    path = reading.source.path
    text = TraceText(path, reading.notes, reading.on_read)
    columns = EventColumns(reading.notes, path.name, _UNUSED_FLOWS)
    arguments = ArgumentColumns()
    memory = MemoryEvents()
    counters = CounterEvents(columns)
    for events in text.batches():
        batch = columns.add(events)
        marks = batch["i"].only(memory.add(batch["i"], columns.names))
        columns.add_instants(marks)
        counters.add(batch["C"])
        arguments.add(batch["X"], columns)
        for part in (batch["X"], marks):
            reading.out.add("details", details(part))
    if not columns.events:
        raise UnreadableInputError("no_events", path=str(path))
    reading.out.flush("details")  # the largest table need not wait in memory while the slices are worked out
    identity.note_profiler_log(text.metadata, reading.notes, path.name)
    base_ns = identity.base_ns(text.metadata)
    slices, argument, on_device, places = _slices(columns, arguments, base_ns, reading.notes, path.name)
    reading.out.add("details", columns.pair_details)
    groups = identity.groups(text.metadata)
    stack = _understand(
        slices, argument, on_device, arguments, groups, reading.out, reading.notes, path.name, choose_steps
    )
    slices.write(reading.out)
    reading.out.add("links", flow_links(slices, columns, base_ns, _FLOW_KINDS, reading.notes))
    memory.write(reading.out, slices, stack, base_ns, reading.notes, path.name)
    counters.write(reading.out, base_ns, reading.notes, path.name)
    track_kinds = kinds_of_tracks(slices.track, on_device) | dict.fromkeys(counters.numbers, "counter")
    reading.out.add("tracks", track_rows(columns.tracks, columns.metadata, track_kinds, places.described(track_kinds)))
    reading.out.add("groups", groups)
    reading.out.add("groups", communication.groups_seen(arguments.collectives))
    reading.out.add("ranks", _rank_row(text.metadata, columns, slices, on_device, path))


def _slices(
    columns: EventColumns, arguments: ArgumentColumns, base_ns: int, notes: Notes, file: str
) -> tuple[SliceTable, dict[str, npt.NDArray[Any]], Bools, Places]:
    """All slices, their arguments as columns, which of them lie on a device, and how tracks are told apart."""
    index, track, category, name, start, dur, is_mark = columns.slices()
    argument = arguments.take(len(index))
    categories = columns.categories.texts()
    for code, text in enumerate(categories):
        if text is not None and kind_of_category(text) is None:
            count = int(((category == code) & ~is_mark).sum())
            notes.add("category_unknown", file=file, count=count, category=text[:80])
    kind = meaning.kinds(category, name, columns.categories, columns.names)
    kind[is_mark] = KIND["mark"]
    places = Places(columns, track, category)
    track, on_device = places.apart(track), places.on_device
    start = np.where(start == NULL, NULL, start + base_ns)
    keep, dur = believable(start, dur, notes, file)
    if keep.all():
        slices = SliceTable(index, track, start, dur, name, columns.names, kind)
        return slices, argument, on_device, places
    slices = SliceTable(index[keep], track[keep], start[keep], dur[keep], name[keep], columns.names, kind[keep])
    return slices, {column: values[keep] for column, values in argument.items()}, on_device[keep], places


def _understand(
    slices: SliceTable,
    argument: dict[str, npt.NDArray[Any]],
    on_device: Bools,
    arguments: ArgumentColumns,
    groups: pl.DataFrame,
    out: RankWriter,
    notes: Notes,
    file: str,
    choose_steps: ChooseSteps | None,
) -> Int64s:
    """Fill what the file says only between the lines, and write the tables that follow; gives stacks, of frames too."""
    correlation = argument["correlation"]
    carries_collective = np.isin(
        slices.id, [index for index, own in arguments.collectives.items() if own.get("Collective name")]
    )
    slices.kind[slices.is_kind("kernel") & carries_collective] = KIND["collective"]
    launch = meaning.launches(slices, correlation, on_device, notes, file)
    launched = np.flatnonzero(launch != NONE)
    out.add(
        "links",
        pl.DataFrame(
            {
                "kind": ["launch"] * len(launched),
                "from_slice": slices.id[launch[launched]],
                "to_slice": slices.id[launched],
            }
        ),
    )
    operator = meaning.operators(slices, argument.pop("external"), launch, on_device)
    phase = pytorch.phases(slices, launch)
    steps = told_apart(pytorch.marked_steps(slices), notes, file)
    if choose_steps is not None:
        steps = choose_steps(steps)
    if not len(steps.number):
        steps = whole_window(slices, notes, file, launch)
    device_work = on_device & slices.is_kind("kernel", "collective", "copy")
    step = step_of_slices(steps, slices, launch, device_work)
    forward, backward = phase == pytorch.FORWARD, phase == pytorch.BACKWARD
    out.add("steps", with_device_work(steps, slices, step, device_work, forward, backward, operator))
    stream = np.where(on_device, argument.pop("stream"), NULL)
    shapes, dtypes = _decoded(arguments.texts["input_shapes"]), _decoded(arguments.texts["dtypes"])
    calls = communication.Calls(
        arguments.collectives,
        _texts_at(argument["input_shapes"], shapes, slices.is_kind("collective")),
        _texts_at(argument["dtypes"], dtypes, slices.is_kind("collective")),
        groups,
    )
    out.add("collectives", communication.collectives(slices, calls, operator, step, stream))
    stack, stacks = pytorch.stacks(slices, launch, argument["stack"], arguments.texts["stack"], of_frames=True)
    out.add("stacks", stacks)
    module = pytorch.modules(slices, launch, argument["module"], arguments.texts["module"])
    names = slices.names.texts()
    core = np.where(device_work, np.int8(0), np.int8(-1))
    slices.integers |= {
        "step": step,
        "correlation": correlation,
        "stream": stream,
        "bytes": argument["bytes"],
        "stack": np.where(slices.is_kind("python", "module"), NULL, stack),
    }
    slices.texts |= {
        "phase": (phase, list(pytorch.PHASES)),
        "operator": (np.where(operator == NONE, -1, slices.name[operator]), names),
        "core": (core, ["GPU"]),
        "type": kernel_types(slices, device_work),
        "module": module,
        "input_shapes": (argument["input_shapes"], shapes),
        "dtypes": (argument["dtypes"], dtypes),
    }
    return stack


def _rank_row(
    metadata: dict[str, Any], columns: EventColumns, slices: SliceTable, on_device: Bools, path: Path
) -> pl.DataFrame:
    tracks = list(columns.tracks)
    devices = [tracks[number][0] for number in np.unique(slices.track[on_device]).tolist()]
    row = identity.rank_row(metadata, sorted({device for device in devices if isinstance(device, int)}), str(path))
    times = dict(zip(("first_ns", "last_ns"), extent(slices), strict=True)) if len(slices) else {}
    return pl.DataFrame([row | times])


def _texts_at(codes: npt.NDArray[Any], texts: list[str | None], chosen: Bools) -> list[str | None]:
    return [None if code < 0 else texts[code] for code in codes[chosen].tolist()]


def _decoded(texts: Codes) -> list[str | None]:
    return [text.decode("utf-8", "replace") for text in texts]
