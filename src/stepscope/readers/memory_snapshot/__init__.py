"""PyTorch memory snapshots (``_dump_snapshot``), of CUDA and of Ascend NPU, of all versions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.raw_bytes import blocks as bytes_of
from stepscope.readers.files.raw_bytes import head
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.unpickle import load
from stepscope.readers.memory_snapshot.annotations import marked_steps, read_annotations
from stepscope.readers.memory_snapshot.block_sizes import rounding
from stepscope.readers.memory_snapshot.device_memory import DeviceMemory
from stepscope.readers.memory_snapshot.final_state import MOST_DEVICES, FinalState, read_segments
from stepscope.readers.memory_snapshot.stack_texts import StackTexts
from stepscope.readers.memory_snapshot.trace_columns import Trace, TraceColumns
from stepscope.readers.memory_snapshot.trace_times import with_times
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_NAME: Final = re.compile(r"\.(?:pickle|pkl)(?:\.gz)?$", re.IGNORECASE)
_RANK_IN_NAME: Final = re.compile(r"rank[-_.]?(\d{1,9})", re.IGNORECASE)
_PROTOCOLS: Final = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_KEYS: Final = (b"segments", b"device_traces", b"total_size", b"segment_type")
_LOOK: Final = 1 << 12
_KNOWN: Final = frozenset(("segments", "device_traces", "allocator_settings", "external_annotations"))


def looks_like(first: bytes) -> bool:
    """Whether a file begins like a snapshot: a binary pickle whose first keys are those of one."""
    return first.startswith(_PROTOCOLS) and any(key in first[:_LOOK] for key in _KEYS)


def claim_file(path: Path, first: bytes) -> Source | None:
    """A snapshot that was named by the user; any binary pickle with the usual name, so that the error is clear."""
    if looks_like(first) or (_NAME.search(path.name) and first.startswith(_PROTOCOLS)):
        named = _RANK_IN_NAME.findall(path.name) or _RANK_IN_NAME.findall(path.parent.name)
        return Source(path, "memory_snapshot", int(named[-1]) if named else None, (path,))
    return None


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """The snapshots of a directory that holds nothing else; pages made from them may lie beside."""
    visible = [name for name in sorted(files) if not name.startswith(".") and not name.endswith(".html")]
    if not visible or any(not folder.startswith(".") for folder in folders):
        return None
    if not all(_NAME.search(name) for name in visible):
        return None
    sources: list[Source] = []
    for name in visible:
        path = directory / name
        try:
            first = head(path, _LOOK)
        except UnreadableInputError:
            return None
        source = claim_file(path, first) if looks_like(first) else None
        if source is None:
            return None
        sources.append(source)
    return sources


def read(reading: Reading) -> None:
    """Read one snapshot as one rank, with all its devices."""
    path, file = reading.source.path, reading.source.path.name
    if not head(path, 1):
        raise UnreadableInputError("empty_file", path=str(path))
    stacks = StackTexts()
    columns = TraceColumns(stacks)
    content, instructions = load(lambda: bytes_of(path, reading.notes, reading.on_read), str(path), columns.pack)
    if isinstance(content, list):
        content = {"segments": content}  # what memory_snapshot() returns, and all there was before version 2.0
    if not isinstance(content, dict) or not {"segments", "device_traces"} & content.keys():
        raise UnreadableInputError("snapshot_not_one", path=str(path))
    for key in sorted(content.keys() - _KNOWN):
        reading.notes.add("snapshot_field_ignored", file=file, field=key[:80])
    if _more_rows_than(instructions, content):
        raise UnreadableInputError("snapshot_pickle_too_large", path=str(path), what="number of rows")
    state = read_segments(content.get("segments"), stacks)
    traces = _traces(content.get("device_traces"), columns)
    annotations = read_annotations(content.get("external_annotations"), reading.notes, file)
    traces, clock = with_times(traces, annotations, reading.notes, file)
    names = _device_names(traces, state, stacks, columns)
    rule = rounding(content.get("allocator_settings"), state)
    born = without = 0
    for device, name in names.items():
        trace = traces.get(device) or columns.join([], 0)
        memory = DeviceMemory(device, name, trace, columns, state, rule)
        memory.write(reading.out)
        memory.remark(reading.notes, file)
        more_born, more_without = memory.births()
        born, without = born + more_born, without + more_without
    if born and without == born:
        reading.notes.add("snapshot_without_stacks", file=file, count=born)
    elif not stacks.native:
        reading.notes.add("snapshot_stacks_partly", file=file, count=without, of=born)
    _remark(state, columns, traces, reading.notes, file)
    reading.out.add("segments", state.frame(names))
    reading.out.add("stacks", stacks.frame())
    busiest = max(traces, key=lambda device: len(traces[device]), default=0)
    times = np.concatenate([np.empty(0, np.int64), *(trace.time for trace in traces.values())])
    _write_annotations(annotations, names, busiest, times, reading.out, reading.notes, file)
    reading.out.add("ranks", _rank_row(names, content.get("allocator_settings"), clock, annotations, times, path))


def _more_rows_than(instructions: int, content: dict[str, Any]) -> bool:
    """Whether lists used many times over hold more blocks and events than the file wrote down."""
    rows = 0
    segments, traces = content.get("segments"), content.get("device_traces")
    for segment in segments if isinstance(segments, list) else ():
        blocks = segment.get("blocks") if isinstance(segment, dict) else None
        rows += len(blocks) if isinstance(blocks, list) else 0
    for elements in traces[:MOST_DEVICES] if isinstance(traces, list) else ():
        if rows > instructions:
            break
        if isinstance(elements, list):
            rows += sum(len(element) if isinstance(element, Trace) else 1 for element in elements)
    return rows > instructions


def _traces(device_traces: Any, columns: TraceColumns) -> dict[int, Trace]:
    """Events by device; they are numbered through."""
    traces: dict[int, Trace] = {}
    first = 0
    for device, elements in enumerate(device_traces[:MOST_DEVICES] if isinstance(device_traces, list) else ()):
        trace = columns.join(elements if isinstance(elements, list) else [elements], first)
        first += len(trace)
        if len(trace):
            traces[device] = trace
    return traces


def _device_names(
    traces: dict[int, Trace], state: FinalState, stacks: StackTexts, columns: TraceColumns
) -> dict[int, str]:
    devices = sorted({*traces, *(segment.device for segment in state.segments)})
    kind = "npu" if stacks.on_npu or rounding(None, state).padding else "cuda"
    # A snapshot made from a profile counts the CPU as one device more, and knows no kinds of segments.
    from_profile = bool(columns.categories) and all(segment.kind is None for segment in state.segments)
    last = max(devices, default=0)
    return {device: "cpu" if from_profile and device == last else f"{kind}:{device}" for device in devices}


def _write_annotations(
    annotations: SliceTable,
    names: dict[int, str],
    device: int,
    times: np.ndarray[Any, np.dtype[np.int64]],
    out: RankWriter,
    notes: Notes,
    file: str,
) -> None:
    """Slices, their tracks, and steps."""
    window = np.concatenate([times, annotations.start, annotations.end])
    if len(window):
        steps, incomplete = marked_steps(annotations, device, (int(window.min()), int(window.max())))
        notes.add("snapshot_without_steps", file=file, count=int(not len(steps.number)))
        known = {} if incomplete is None else {"incomplete": pl.Series(incomplete)}
        out.add("steps", steps.frame().with_columns(**known))
        annotations.integers["step"] = steps.at(annotations.start)
    annotations.write(out)
    tracks = np.unique(annotations.track).tolist()
    rows = [
        {"track": track, "kind": "annotation", "name": "annotations", "process": names.get(track, str(track))}
        for track in tracks
    ]
    out.add("tracks", pl.DataFrame([{**row, "order": order} for order, row in enumerate(rows)]))


def _remark(state: FinalState, columns: TraceColumns, traces: dict[int, Trace], notes: Notes, file: str) -> None:
    """What concerns the file as a whole."""
    stacks = columns.stacks
    notes.add(
        "snapshot_element_dropped", file=file, count=state.dropped + columns.dropped, what="segments, blocks, events"
    )
    for field, count in sorted(columns.unknown.items()):
        notes.add("snapshot_field_ignored", file=file, count=count, field=field[:80])
    notes.add("snapshot_compile_context", file=file, count=columns.compiled)
    notes.add("snapshot_graph_nodes", file=file, count=stacks.graph_nodes)
    notes.add("snapshot_stack_cut", file=file, count=stacks.cut)
    notes.add("snapshot_private_pools", file=file, count=sum(segment.pool != (0, 0) for segment in state.segments))
    if not traces:
        notes.add("snapshot_without_history", file=file)


def _rank_row(
    names: dict[int, str],
    settings: Any,
    clock: str,
    annotations: SliceTable,
    times: np.ndarray[Any, np.dtype[np.int64]],
    path: Path,
) -> pl.DataFrame:
    kinds = {name.partition(":")[0] for name in names.values()}
    device_kind = "npu" if "npu" in kinds else "gpu" if "cuda" in kinds else "cpu"
    accelerators = [device for device, name in names.items() if name != "cpu"]
    window = np.concatenate([times, annotations.start, annotations.end])
    switches: dict[str, Any] = {"clock": clock}
    if isinstance(settings, dict):
        switches |= {key[:80]: value for key, value in settings.items() if isinstance(value, (str, int, float))}
    row: dict[str, Any] = {
        "device_kind": device_kind,
        "device_index": accelerators[0] if len(accelerators) == 1 else None,
        "framework": "pytorch",
        "switches": json.dumps(switches, ensure_ascii=True),
        "clock_base_ns": 0,
        "source": str(path),
        "allocations_overwritten": True,  # PyTorch keeps them in a ring; whether it ran over is not said
    }
    if len(window):
        row |= {"first_ns": int(window.min()), "last_ns": int(window.max())}
    return pl.DataFrame([row])
