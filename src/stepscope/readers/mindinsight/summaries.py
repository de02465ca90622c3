"""Files that hold nothing but the vendor's own sums: operator times, FLOPs, cluster rows. All go to ``reported``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from stepscope.facts.mindinsight import mindinsight_facts
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_csv, read_json, read_text
from stepscope.readers.mindinsight.layout import RankFiles

_COMPUTE_TIME: Final = re.compile(r"(?P<name>\S.*?)\s+(?P<time>[-+.\deE]+)\s+(?P<stream>\d+)\s*")
_TYPE_TIME: Final = re.compile(r"(?P<name>\S+)\s+(?P<time>[-+.\deE]+)\s+(?P<calls>\d+)\s+(?P<percent>[-+.\deE]+)\s*")
_OPERATOR_TIME: Final = re.compile(r"\S+\s+\S+\s+(?P<time>[-+.\deE]+)\s+\S+\s+(?P<name>\S+)\s*")


def read_summaries(files: RankFiles, steps: int, reported: Reported, reading: Reading) -> dict[str, Any]:
    """Read all of them; ``steps`` is the number of steps in the step trace. Returns the memory summary."""
    for subject, entry in mindinsight_facts().summaries.items():
        for path in files.every(f"table:{subject}"):
            if (table := read_csv(path, reading, ends_open=entry.ends_open)) is not None:
                reported.add_table(path.name, table, entry.keys, reading.notes, entry.texts)
    memory: dict[str, Any] = {}
    for subject in mindinsight_facts().objects:
        for path in files.every(f"object:{subject}"):
            content = _read_object(path, subject, reported, reading)
            memory = content if subject == "memory" else memory
    for path in files.every("cluster"):
        _read_cluster(path, steps, reported, reading)
    for path in files.every("operator_times"):
        _read_compute_times(path, reported, reading)
    for path in files.every("operator_type_times"):
        _read_type_times(path, reported, reading)
    for path in files.every("flops_scope"):
        _read_scopes(path, reported, reading)
    return memory


def _read_object(path: Path, key: str, reported: Reported, reading: Reading) -> dict[str, Any]:
    content = read_json(path, reading)
    if not isinstance(content, dict):
        reading.notes.add("mindspore_file_damaged", file=path.name, count=int(content is not None))
        return {}
    bad = sum(not reported.add(path.name, key, str(metric), value) for metric, value in content.items())
    reading.notes.add("mindspore_cells_not_numbers", file=path.name, count=bad)
    return content


def _read_cluster(path: Path, steps: int, reported: Reported, reading: Reading) -> None:
    """Row i is step i, counted from 1; behind them stands their average, unless there is but one step."""
    table = read_csv(path, reading)
    if table is None:
        return
    count = steps if steps in (len(table.rows), len(table.rows) - 1) else max(len(table.rows) - 1, 1)
    bad = 0
    for number, row in enumerate(table.rows, start=1):
        step = number if number <= count else None
        for metric, cell in zip(table.header, row, strict=True):
            bad += not reported.add(path.name, "average" if step is None else str(step), metric, cell, step)
    reading.notes.add("mindspore_cells_not_numbers", file=path.name, count=bad)


def _read_compute_times(path: Path, reported: Reported, reading: Reading) -> None:
    """``output_op_compute_time``: three lines of heading, then operator, ms and stream; the last line is the total."""
    for line in read_text(path, reading):
        if not line.strip() or line.startswith(("====", "----", "op_name")):
            continue
        match = _COMPUTE_TIME.fullmatch(line)
        if match is None or not reported.add(path.name, match["name"], "compute_time(ms)", match["time"]):
            reading.notes.add("mindspore_rows_dropped", file=path.name, place=line[:60])
            continue
        reported.add(path.name, match["name"], "stream_id", match["stream"])


def _read_type_times(path: Path, reported: Reported, reading: Reading) -> None:
    """``output_op_compute_time_detail``: times per type, then, behind ``Detail:``, times per operator."""
    in_detail = False
    for line in read_text(path, reading):
        if not line.strip() or line.startswith(("====", "optype_name", "op_name op_type")):
            continue
        if line.strip() == "Detail:":
            in_detail = True
            continue
        match = (_OPERATOR_TIME if in_detail else _TYPE_TIME).fullmatch(line)
        metric = "avg_execution_time" if in_detail else "compute_time(ms, per-step)"
        if match is None or not reported.add(path.name, match["name"], metric, match["time"]):
            reading.notes.add("mindspore_rows_dropped", file=path.name, place=line[:60])
        elif not in_detail:
            reported.add(path.name, match["name"], "called_times(per-step)", match["calls"])
            reported.add(path.name, match["name"], "percent", match["percent"])


def _read_scopes(path: Path, reported: Reported, reading: Reading) -> None:
    """``flops_scope``: how many MFLOPs flow from scope to scope. A scope without a link has none to report."""
    content = read_json(path, reading)
    data = content.get("data") if isinstance(content, dict) else None
    links = data.get("links") if isinstance(data, dict) else None
    nodes = data.get("nodes") if isinstance(data, dict) else None
    if not isinstance(links, list) or not isinstance(nodes, list) or not isinstance(content, dict):
        reading.notes.add("mindspore_file_damaged", file=path.name, count=int(content is not None))
        return
    ends: set[str] = set()
    for link in links:
        if not isinstance(link, dict):
            reading.notes.add("mindspore_rows_dropped", file=path.name, place="links")
            continue
        source, target = str(link.get("source")), str(link.get("target"))
        ends |= {source, target}
        if not reported.add(path.name, f"{source} -> {target}", "value", link.get("value")):
            reading.notes.add("mindspore_rows_dropped", file=path.name, place=f"{source} -> {target}"[:60])
    alone = [node for node in nodes if not isinstance(node, dict) or str(node.get("name")) not in ends]
    reading.notes.add("flops_scope_without_link", file=path.name, count=len(alone))
    reported.add(path.name, "flops_scope", "max_scope_num", content.get("max_scope_num"))
