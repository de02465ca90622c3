"""Rows of the unified database about the host: operators with their call chains, calls of the runtime, marks."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from stepscope.deliver.capture_directory.cells import shapes, types
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.capture_directory.sqlite_tables import Rows, Texts

_RUNTIME, _OPERATOR, _MARK = 5000, 50001, 50004
_RANGE, _MOMENT = 2, 3
#: By what stands before a call's name in a timeline.
_LAYERS: Final = {"AscendCL": 20000, "Model": 15000, "Node": 10000, "Hccl": 5500, "HCCL": 5500, "Runtime": _RUNTIME}
_MARKS_PROCESS: Final = "mstx"


def host_rows(data: RankData, texts: Texts) -> dict[str, Rows]:
    """The tables of the host, by name."""
    operators, connections = _operators(data, texts)
    steps = _step_marks(data, texts)
    marks, apis = _marks(data, texts)
    return {
        "CANN_API": _runtime_calls(data, texts),
        "PYTORCH_API": [*operators, *steps, *apis],
        "CONNECTION_IDS": [*connections, *((api[3], api[3]) for api in apis)],
        "PYTORCH_CALLCHAINS": _call_chains(data, texts),
        "MSTX_EVENTS": marks,
    }


def _runtime_calls(data: RankData, texts: Texts) -> Rows:
    rows = data.scan("slices").filter(pl.col("kind") == "runtime")
    calls: Rows = []
    for number, start, duration, track, name in (
        rows.select("slice", "start_ns", "dur_ns", "track", "name").collect().iter_rows()
    ):
        layer, call = _layer_and_call(name)
        calls.append((start, start + duration, layer, track, number, texts(call)))
    return calls


def _layer_and_call(name: str | None) -> tuple[int, str | None]:
    """The layer of CANN that a call belongs to, and its name there.

    >>> _layer_and_call("Node@launch"), _layer_and_call("cudaLaunchKernel")
    ((10000, 'launch'), (5000, 'cudaLaunchKernel'))
    """
    layer, at, call = (name or "").partition("@")
    return (_LAYERS[layer], call) if at and layer in _LAYERS else (_RUNTIME, name)


def _operators(data: RankData, texts: Texts) -> tuple[Rows, Rows]:
    """Operators, ranges that the framework marks among them, and which device tasks each launched."""
    owned: dict[int, list[int]] = {}
    launched = data.causes("launch")
    for task, operator in data.causes("operator_launch").items():
        owned.setdefault(operator, []).append(launched.get(task, task))
    rows = _framework_rows(data)
    shown = rows.select(
        *("slice", "start_ns", "dur_ns", "track", "name", "stack"),
        kinds=types("dtypes"),
        inputs=shapes("input_shapes"),
    )
    operators: Rows = []
    connections: Rows = []
    for row in shown.collect().iter_rows(named=True):
        tasks = owned.get(row["slice"], [])
        connections += [(row["slice"], task) for task in tasks]
        connection = row["slice"] if tasks else None
        sizes = (texts(row["kinds"]), texts(row["inputs"]))
        operators.append(_api(row, connection, texts(row["name"]), (*sizes, row["stack"]), _OPERATOR))
    return operators, connections


def _framework_rows(data: RankData) -> pl.LazyFrame:
    """Slices of the host that are calls of the framework here: also ranges such as that of the optimizer, no marks."""
    process, kind = (pl.col(name).cast(pl.String) for name in ("process", "kind"))
    tracks = data.store.scan("tracks", [data.rank]).filter((kind == "host") & (process != _MARKS_PROCESS))
    of_framework = pl.col("kind").cast(pl.String).is_in(["operator", "annotation"])
    return data.scan("slices").filter(of_framework).join(tracks.select("track"), on="track", how="semi")


def _api(
    row: dict[str, Any], connection: int | None, name: int, further: tuple[Any, ...], kind: int
) -> tuple[Any, ...]:
    start, end = row["start_ns"], row["start_ns"] + row["dur_ns"]
    return (str(start), str(end), row["track"], connection, name, None, None, *further, kind)


def _step_marks(data: RankData, texts: Texts) -> Rows:
    """Steps among the operators, as PyTorch's profiler marks them."""
    if not data.has_steps:
        return []
    rows = data.scan("steps").select("step", "host_start_ns", "host_end_ns").drop_nulls().collect()
    return [
        (
            str(start),
            str(end),
            0,
            None,
            texts(f"ProfilerStep#{step}"),
            None,
            None,
            texts(None),
            texts(None),
            None,
            _OPERATOR,
        )
        for step, start, end in rows.iter_rows()
    ]


def _call_chains(data: RankData, texts: Texts) -> Rows:
    """Frames of every stack that an operator has, the innermost first."""
    used = _framework_rows(data).select("stack").drop_nulls().unique()
    rows = data.store.scan("stacks", [data.rank]).join(used, on="stack", how="semi").select("stack", "frames").collect()
    return [
        (stack, texts(frame), depth)
        for stack, frames in rows.iter_rows()
        for depth, frame in enumerate(reversed(str(frames).split("\n")))
    ]


def _marks(data: RankData, texts: Texts) -> tuple[Rows, Rows]:
    """Marks and ranges of the user's code, and the same as calls of the framework."""
    tracks = data.store.scan("tracks", [data.rank]).filter(pl.col("process").cast(pl.String) == _MARKS_PROCESS)
    rows = data.scan("slices").join(tracks.select("track"), on="track", how="semi").sort("start_ns")
    events: Rows = []
    apis: Rows = []
    for row in (
        rows.select("slice", "track", "start_ns", "dur_ns", "name", "type", "kind").collect().iter_rows(named=True)
    ):
        kind = _MOMENT if row["kind"] == "mark" else _RANGE
        ends = (row["start_ns"], row["start_ns"] + row["dur_ns"], kind, row["slice"], 0, texts(row["name"]))
        events.append((*ends, row["track"], row["track"], texts(row["type"] or "default"), row["slice"]))
        apis.append(_api(row, row["slice"], texts(row["name"]), (texts(None), texts(None), None), _MARK))
    return events, apis
