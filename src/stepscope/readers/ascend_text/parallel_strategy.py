"""``parallel_strategy_N.json`` of MindSpore: the stage of a rank, and the groups that its graph communicates in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.readers.ascend.identity import group_id
from stepscope.readers.ascend.rank_directory import read_json
from stepscope.readers.files.reading import Reading


def read_strategy(path: Path, reading: Reading) -> tuple[dict[str, Any], pl.DataFrame]:
    """Columns of ``ranks``, and rows of ``groups``."""
    content = read_json(path)
    reading.took(path.stat().st_size)
    config = content.get("config")
    if not isinstance(config, dict):
        reading.notes.add("ascend_file_unreadable", file=path.name)
        return {}, pl.DataFrame()
    graph = content.get("graph")
    nodes = graph.get("node") if isinstance(graph, dict) else None
    nodes = [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
    rows: dict[str, dict[str, Any]] = {}
    for node in nodes:
        words = _words(node.get("attribute"))
        name, ranks = words.get("group"), words.get("group_ranks")
        if name and ranks:
            members = [int(text) for text in re.findall(r"\d{1,9}", ranks)]
            rows[group_id(name)] = {
                "group": group_id(name),
                "name": name,
                "ranks": members,
                "origin": "parallel_strategy",
                "confidence": "stated",
            }
    reading.notes.add("ascend_graph_left_out", file=path.name, count=len(nodes))
    schema = {
        "group": pl.String(),
        "name": pl.String(),
        "ranks": pl.List(pl.Int32),
        "origin": pl.String(),
        "confidence": pl.String(),
    }
    stage = config.get("stageId")
    return (
        {"pp": stage} if isinstance(stage, int) and 0 <= stage < 1 << 31 else {},
        pl.DataFrame(list(rows.values()), schema=schema),
    )


def _words(attributes: Any) -> dict[str, str]:
    words = {}
    for attribute in attributes if isinstance(attributes, list) else ():
        value = attribute.get("value") if isinstance(attribute, dict) else None
        if isinstance(value, dict) and isinstance(value.get("strVal"), str):
            words[str(attribute.get("name"))] = value["strVal"]
    return words
