"""Calls on the host: framework operators and Python frames, CANN's own calls, markers, garbage collection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import Int32s, Int64s
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.joins import distinct
from stepscope.readers.ascend_db.strings import UNKNOWN, Coded
from stepscope.readers.ascend_db.timeline import DatabaseTimeline, Layer, Part, connections, numbers
from stepscope.readers.slices.slice_table import KIND
from stepscope.readers.slices.step_names import step_names
from stepscope.store.notes import Notes

PYTHON: Final = Layer("Python", "CPU", 0)
_GC: Final = Layer("Python GC", "CPU", 1)
_MSTX: Final = Layer("MSTX", "CPU", 2)
_OS_RUNTIME: Final = Layer("OS Runtime", "CPU", 6)
_CANN: Final = Layer("CANN", "CPU", 7)

OPERATOR, QUEUE, _TRACE, _MARKER = 50001, 50002, 50003, 50004  # of ENUM_API_TYPE
_KINDS: Final = {OPERATOR: "operator", QUEUE: "runtime", _TRACE: "python", _MARKER: "annotation"}
# The layers of CANN as the vendor's timeline writes them before a call's name.
_CANN_LAYERS: Final = {20000: "AscendCL", 15000: "Model", 10000: "Node", 5500: "Hccl", 5000: "Runtime"}
_MARKS: Final = (0, 3)  # of ENUM_MSTX_EVENT_TYPE; the others are ranges
_MODULE_PREFIX: Final = "nn.Module: "
_HAS_LETTERS: Final = re.compile("[A-Za-z]")


@dataclass
class HostCalls:
    """What other tables need to know of these rows."""

    python: pl.DataFrame  # connectionId, type, callchainId
    cann: pl.DataFrame  # connectionId
    markers: pl.DataFrame  # connectionId
    threads: dict[int, int]  # track of Python's calls, by globalTid
    cann_threads: Int64s  # globalTid of each row of CANN_API


def add_host_calls(reading: DatabaseReading) -> HostCalls:
    """Put all host tables onto the timeline."""
    python, threads = _python(reading)
    cann = _cann(reading)
    markers = _markers(reading)
    for table, layer, kind in (("GC_RECORD", _GC, "gc"), ("OSRT_API", _OS_RUNTIME, "runtime")):
        _plain(reading, table, layer, kind)
    return HostCalls(python, cann, markers, threads, numbers(cann["globalTid"]))


def _python(reading: DatabaseReading) -> tuple[pl.DataFrame, dict[int, int]]:
    calls = reading.database.frame(
        "PYTORCH_API",
        ["startNs", "endNs", "globalTid", "connectionId", "sequenceNumber", "fwdThreadId", "callchainId", "type"],
        ids=["name", "inputDtypes", "inputShapes"],
    )
    track, threads = _threads(calls["globalTid"], PYTHON, reading.timeline)
    name = reading.strings.names(calls["name"], reading.timeline.names)
    kind = _python_kinds(calls["type"], name, reading.timeline, reading.notes, reading.database.file)
    shapes, types = (_on_one_line(reading.strings.coded(calls[name])) for name in ("inputShapes", "inputDtypes"))
    if _share_with_letters(shapes) > _share_with_letters(types):
        # Real files of torch_npu have each under the other's name.
        reading.note("db_columns_swapped", first="inputShapes", second="inputDtypes")
        shapes, types = types, shapes
    reading.timeline.add(
        Part(
            "PYTORCH_API",
            track,
            numbers(calls["startNs"]),
            numbers(calls["endNs"]),
            name,
            kind,
            texts={"input_shapes": shapes, "dtypes": types},
        )
    )
    return calls.select("connectionId", "type", "callchainId", "sequenceNumber", "fwdThreadId"), threads


def _python_kinds(
    types: pl.Series, name: Int32s, timeline: DatabaseTimeline, notes: Notes, file: str
) -> npt.NDArray[np.int8]:
    distinct, type_of_row = np.unique(numbers(types), return_inverse=True)
    for index, number in enumerate(distinct.tolist()):
        if number not in _KINDS:
            notes.add("category_unknown", file=file, count=int((type_of_row == index).sum()), category=str(number))
    by_type = [KIND[_KINDS.get(number, "annotation")] for number in distinct.tolist()]
    kind = np.array(by_type, np.int8)[type_of_row] if len(distinct) else np.empty(0, np.int8)
    words = [text or "" for text in timeline.names.texts()] or [""]
    can_mark = np.zeros(len(words), np.bool_)
    can_mark[name[kind == KIND["operator"]]] = True
    is_step = step_names(words, can_mark)[name]
    is_module = np.array([word.startswith(_MODULE_PREFIX) for word in words])[name]
    kind[(kind == KIND["operator"]) & is_step] = KIND["step"]
    kind[(kind == KIND["python"]) & is_module] = KIND["module"]
    return kind


def _on_one_line(coded: Coded) -> Coded:
    return coded[0], [None if text is None else text.replace(";\r\n", ";") for text in coded[1]]


def _share_with_letters(coded: Coded) -> float:
    """Shapes are digits and commas, types are words."""
    texts = [text for text in coded[1] if text and re.search(r"\w", text)]
    return sum(bool(_HAS_LETTERS.search(text)) for text in texts) / len(texts) if texts else 0.0


def _cann(reading: DatabaseReading) -> pl.DataFrame:
    calls = reading.database.frame("CANN_API", ["startNs", "endNs", "type", "globalTid", "connectionId"], ids=["name"])
    codes, texts = reading.strings.coded(calls["name"])
    keys, key_of_row = distinct(numbers(calls["type"]), codes)
    names = []
    for number, code in keys:
        word = texts[code] if code >= 0 else None
        layer = _CANN_LAYERS.get(number)
        names.append(reading.timeline.name(f"{layer}@{word or UNKNOWN}" if layer else word))
    name = np.array(names, np.int32)[key_of_row]
    reading.timeline.add(
        Part(
            "CANN_API",
            _threads(calls["globalTid"], _CANN, reading.timeline)[0],
            numbers(calls["startNs"]),
            numbers(calls["endNs"]),
            name,
            np.full(calls.height, KIND["runtime"], np.int8),
            {"correlation": connections(calls["connectionId"])},
        )
    )
    return calls.select("connectionId", "globalTid")


def _markers(reading: DatabaseReading) -> pl.DataFrame:
    markers = reading.database.frame(
        "MSTX_EVENTS",
        ["startNs", "endNs", "eventType", "rangeId", "category", "globalTid", "endGlobalTid", "connectionId"],
        ids=["message", "domainId"],
    )
    is_mark = markers["eventType"].is_in(_MARKS).fill_null(False).to_numpy()
    start = numbers(markers["startNs"])
    reading.timeline.add(
        Part(
            "MSTX_EVENTS",
            _threads(markers["globalTid"], _MSTX, reading.timeline)[0],
            start,
            np.where(is_mark, start, numbers(markers["endNs"])),
            reading.strings.names(markers["message"], reading.timeline.names),
            np.where(is_mark, KIND["mark"], KIND["annotation"]).astype(np.int8),
            {"correlation": connections(markers["connectionId"])},
        )
    )
    return markers.drop("startNs", "endNs", "globalTid", "message")


def _plain(reading: DatabaseReading, table: str, layer: Layer, kind: str) -> None:
    """A table of nothing but intervals on threads."""
    rows = reading.database.frame(table, ["startNs", "endNs", "globalTid"], ids=["name"])
    if "name" in reading.database.columns(table):
        name = reading.strings.names(rows["name"], reading.timeline.names)
    else:
        name = np.full(rows.height, reading.timeline.names[layer.name] if rows.height else 0, np.int32)
    reading.timeline.add(
        Part(
            table,
            _threads(rows["globalTid"], layer, reading.timeline)[0],
            numbers(rows["startNs"]),
            numbers(rows["endNs"]),
            name,
            np.full(rows.height, KIND[kind], np.int8),
        )
    )


def _threads(global_ids: pl.Series, layer: Layer, timeline: DatabaseTimeline) -> tuple[Int32s, dict[int, int]]:
    """The track of each row, and of each thread; an id is the process in the upper half, the thread in the lower."""
    distinct, thread_of_row = np.unique(numbers(global_ids.fill_null(0)), return_inverse=True)
    processes = {number >> 32 for number in distinct.tolist()}
    tracks = {}
    for number in distinct.tolist():
        process, thread = number >> 32, number & 0xFFFFFFFF
        tracks[number] = timeline.track(
            "host", layer, thread, f"Thread {thread}", process if len(processes) > 1 else None
        )
    return np.array(list(tracks.values()), np.int32)[thread_of_row] if tracks else np.empty(0, np.int32), tracks
