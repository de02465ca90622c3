"""Memory of a rank: the plan of the graph (``memory_usage_details``) and measured blocks (``operator_memory``).

Built from documentation, not from a sample. The plan is what the compiler laid out, in GiB and by position in the
order of execution; it has no times, so it stays in ``reported``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers.files.json_values import as_dict, as_list
from stepscope.readers.files.numbers import US, number, scaled
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_csv, read_json
from stepscope.store.notes import Notes

_NODE_METRICS: Final = ("node_id", "size", "allocated")
_TENSOR_METRICS: Final = ("size", "life_start", "life_end")
_GRAPH_METRICS: Final = ("static_mem", "fp_start", "bp_end")
_KIB: Final = 1024
_MIB: Final = 1 << 20


def read_plan(path: Path, reported: Reported, reading: Reading) -> None:
    """The plan of each graph: its nodes, the curve over them, and the tensors alive at its peak."""
    content = read_json(path, reading)
    if not isinstance(content, dict):
        reading.notes.add("mindspore_file_damaged", file=path.name, count=int(content is not None))
        return
    for name, graph in content.items():
        if not isinstance(graph, dict):
            reading.notes.add("mindspore_rows_dropped", file=path.name, place=clean_text(str(name))[:60])
            continue
        label = f"graph {graph.get('graph_id', name)}"
        for metric in _GRAPH_METRICS:
            if graph.get(metric) is not None:
                reported.add(path.name, label, metric, graph[metric])
        for index, value in enumerate(as_list(graph.get("lines"))):
            reported.add(path.name, f"{label} position {index}", "occupied", value)
        for node in as_list(graph.get("nodes")):
            _report(
                node,
                as_dict(node).get("fullname") or as_dict(node).get("name"),
                _NODE_METRICS,
                path,
                reported,
                reading.notes,
            )
        for tensor in _flat(graph.get("breakdowns")):
            _report(tensor, as_dict(tensor).get("tensor_name"), _TENSOR_METRICS, path, reported, reading.notes)


def read_operator_memory(path: Path, reading: Reading) -> None:
    """Blocks with their life, and the allocator's totals at both ends of it."""
    table = read_csv(path, reading)
    if table is None:
        return
    blocks: list[dict[str, Any]] = []
    curve: list[dict[str, Any]] = []
    for row in table.rows:
        cells = dict(zip(table.header, row, strict=True))
        size, start = number(cells.get("Size(KB)")), scaled(cells.get("Allocation Time(us)"), US)
        if size is None or start is None or not 0 <= size < 1 << 50:
            reading.notes.add("mindspore_rows_dropped", file=path.name, place=clean_text(cells.get("Name", ""))[:60])
            continue
        end = scaled(cells.get("Release Time(us)"), US)
        lasted = scaled(cells.get("Duration(us)"), US)
        end = start + lasted if end is None and lasted is not None else end
        device = cells.get("Device") or cells.get("Device Type")
        blocks.append(
            {
                "device": device.lower() if device else None,
                "pool": "MindSpore",
                "bytes": round(size * _KIB),
                "alloc_ns": start,
                "free_ns": end,
                "alloc_seq": len(blocks),
                "before_window": False,
                "lost_free": False,
                "operator": cells.get("Name"),
            }
        )
        for edge, time in (("Allocation", start), ("Release", end)):
            totals = [number(cells.get(f"{edge} Total {what}(MB)")) for what in ("Allocated", "Reserved", "Active")]
            if time is not None and totals[0] is not None:
                kept = [None if total is None or abs(total) >= 1 << 40 else round(total * _MIB) for total in totals]
                names = dict(zip(("allocated", "reserved", "active"), kept, strict=True))
                curve.append({"device": blocks[-1]["device"], "component": "MindSpore", "time_ns": time} | names)
    reading.out.add("allocations", pl.DataFrame(blocks, infer_schema_length=None))
    if curve:
        reading.out.add("memory", pl.DataFrame(curve, infer_schema_length=None).sort("time_ns", maintain_order=True))


def _report(item: Any, key: Any, metrics: tuple[str, ...], path: Path, reported: Reported, notes: Notes) -> None:
    if not isinstance(item, dict) or not sum(
        [reported.add(path.name, str(key), name, item.get(name)) for name in metrics]
    ):
        notes.add("mindspore_rows_dropped", file=path.name, place="node or tensor")


def _flat(value: Any) -> list[Any]:
    """The breakdown is a list of tensors, or, in old releases, one such list per position."""
    listed = as_list(value)
    return [tensor for item in listed for tensor in (item if isinstance(item, list) else [item])]
