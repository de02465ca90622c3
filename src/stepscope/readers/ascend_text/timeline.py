"""The timeline file: every event read once, slices laid out, each with its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stepscope.arrays import NULL, Bools, Int8s, Int32s, Int64s
from stepscope.errors import UnreadableInputError
from stepscope.readers.ascend.device_tasks import plane_kind, task_kind
from stepscope.readers.ascend_text.counters import CounterSeries
from stepscope.readers.ascend_text.layers import CODE, LAYERS, KnownTracks, known_tracks
from stepscope.readers.ascend_text.task_arguments import FAMILY_LAYERS, TaskArguments
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.slices.step_names import step_names
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import EventColumns, details
from stepscope.readers.trace_json.trace_text import TraceText
from stepscope.store.notes import Notes

#: torch_npu writes the bare name, MindSpore puts module and event before it.
_MODULE_PREFIX: Final = "nn.Module: "
_KIND_OF_LAYER: Final = {
    "python": "annotation",
    "mindspore": "annotation",
    "cpu_op": "operator",
    "gc": "gc",
    "cann": "runtime",
    "hardware": "sync",
    "group": "collective",
    "plane": "comm_task",
    "vendor": "reported",
    "annotation": "annotation",
    "unknown": "annotation",
}
_KIND_OF_CATEGORY: Final = {
    "cpu_op": "operator",
    "python_function": "python",
    "enqueue": "runtime",
    "dequeue": "runtime",
}
_PLAIN_CATEGORIES: Final = (None, "", "user_annotation")


@dataclass
class TraceTimeline:
    """Everything of the file that the rest of the reader needs; arrays have one entry per slice."""

    file: str
    columns: EventColumns
    counters: CounterSeries
    known_tracks: KnownTracks
    slices: SliceTable
    argument: dict[str, npt.NDArray[Any]]
    texts: dict[str, Codes]
    layer: Int32s
    unknown_task: Bools  # device tasks whose type no table knows

    def on_layer(self, *names: str) -> Bools:
        return np.isin(np.arange(len(LAYERS)), [CODE[name] for name in names])[self.layer]


def read_timeline(paths: Sequence[Path], reading: Reading) -> TraceTimeline:
    """Read the pieces of one timeline in order; event numbers run through."""
    file = paths[0].name
    columns = EventColumns(reading.notes, file)
    arguments = TaskArguments()
    counters = CounterSeries(columns, reading.notes)
    for path in paths:
        columns.file = path.name
        for events in TraceText(path, reading.notes, reading.on_read).batches():
            batch = columns.add(events)
            columns.add_instants(batch["i"])
            counters.add(batch["C"])
            arguments.add(batch["X"], columns.categories)
            for part in (batch["X"], batch["B"], batch["i"]):
                reading.out.add("details", details(part))
    counters.flush()
    columns.file = file
    if not columns.events:
        raise UnreadableInputError("no_events", path=str(paths[0]))
    index, track, category, name, start, dur, is_mark = columns.slices()
    reading.out.add("details", columns.pair_details)
    argument = arguments.take(len(index))
    known = known_tracks(columns.tracks, columns.metadata)
    _name_unknown_tracks(known, track, argument["family"])
    layer = known.layer[track] if len(track) else np.empty(0, np.int32)
    kind = _kinds(layer, category, name, columns, reading.notes)
    unknown_task = _task_kinds(kind, layer, argument["task_type"], arguments.texts["task_type"])
    kind[is_mark] = KIND["mark"]
    keep, dur = believable(start, dur, reading.notes, file)
    if not keep.all():
        index, track, name, start, dur = index[keep], track[keep], name[keep], start[keep], dur[keep]
        kind, layer, unknown_task, is_mark = kind[keep], layer[keep], unknown_task[keep], is_mark[keep]
        argument = {column: values[keep] for column, values in argument.items()}
    slices = SliceTable(index, track, start, dur, name, columns.names, kind)
    _number_streams(slices, known, argument["stream"])
    return TraceTimeline(
        file,
        columns,
        counters,
        known,
        slices,
        argument,
        arguments.texts,
        layer,
        unknown_task & ~is_mark,
    )


def _name_unknown_tracks(known: KnownTracks, track: Int32s, family: Int32s) -> None:
    """A file cut short may lack the names of its processes; what its events carry tells the layer too."""
    nameless = (known.layer[track] == CODE["unknown"]) & (family >= 0) if len(track) else np.zeros(0, np.bool_)
    layers = [CODE[layer] for layer in FAMILY_LAYERS.values()]
    for number in np.unique(track[nameless]).tolist():
        own = family[nameless & (track == number)]
        known.layer[number] = layers[int(np.bincount(own).argmax())]


def _number_streams(slices: SliceTable, known: KnownTracks, stream: Int64s) -> None:
    """Old files give the stream only in the name of its thread."""
    named = np.full(len(known.layer) + 1, NULL, np.int64)
    named[list(known.stream)] = list(known.stream.values())
    missing = stream == NULL
    stream[missing] = named[slices.track[missing]]


def _kinds(layer: Int32s, category: Int32s, name: Int32s, columns: EventColumns, notes: Notes) -> Int8s:
    """Kinds by layer, on the host by category and name too."""
    kind = np.array([KIND[_KIND_OF_LAYER[each]] for each in LAYERS], np.int8)[layer]
    if not len(kind):
        return kind
    categories = columns.categories.texts()
    on_host = np.isin(layer, [CODE[each] for each in ("python", "mindspore", "unknown")])
    by_category = np.array([KIND.get(_KIND_OF_CATEGORY.get(text or "", ""), -1) for text in categories], np.int8)
    stated = on_host & (by_category[category] >= 0)
    kind[stated] = by_category[category[stated]]
    for code, text in enumerate(categories):
        if text not in _PLAIN_CATEGORIES and by_category[code] < 0:
            count = int((on_host & (category == code)).sum())
            notes.add("category_unknown", file=columns.file, count=count, category=(text or "")[:80])
    words = [text or "" for text in columns.names.texts()]
    is_module = np.array([word.startswith(_MODULE_PREFIX) for word in words])
    is_range = np.array(["::" in word for word in words])
    kind[(kind == KIND["python"]) & is_module[name]] = KIND["module"]
    kind[(layer == CODE["mindspore"]) & (kind == KIND["annotation"]) & is_range[name]] = KIND["operator"]
    host_range = (kind == KIND["operator"]) | (kind == KIND["annotation"])
    can_mark = np.zeros(len(words), np.bool_)
    can_mark[name[on_host & host_range]] = True
    kind[on_host & host_range & step_names(words, can_mark)[name]] = KIND["step"]
    lost = layer == CODE["unknown"]
    lost &= ~stated
    notes.add("ascend_process_unknown", file=columns.file, count=int(lost.sum()))
    return kind


def _task_kinds(kind: Int8s, layer: Int32s, task_type: Int32s, types: Codes) -> Bools:
    """Give device and plane tasks the kind of their type; returns which device tasks have no known type."""
    on_stream = layer == CODE["hardware"]
    on_plane = layer == CODE["plane"]
    # One more entry at the end stands for tasks without a type.
    stream_kinds = [KIND.get(task_kind(str(word)) or "", -1) for word in types] + [-1]
    plane_kinds = [KIND[plane_kind(str(word))] for word in types] + [KIND["comm_task"]]
    by_type = np.array(stream_kinds, np.int8)[task_type]
    known = on_stream & (by_type >= 0)
    kind[known] = by_type[known]
    kind[on_plane] = np.array(plane_kinds, np.int8)[task_type[on_plane]]
    unknown: Bools = on_stream & ~known
    return unknown
