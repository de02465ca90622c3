"""How operators are split over devices: ``parallel_strategy``.

The pipeline stage goes to ``ranks``, the devices of each stage and the groups that operators name to ``groups``, and
how each operator's inputs are sliced to ``reported``: ``gen_strategy.0.1`` is the number of slices of input 0 along
dimension 1.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers.files.json_values import as_dict
from stepscope.readers.files.numbers import integer
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_json
from stepscope.readers.mindinsight.identity import RankIdentity

_STRATEGIES: Final = ("in_strategy", "gen_strategy", "out_strategy")
_SPECIAL: Final = ("redistribution", "grad_mirror")
_NUMBERS: Final = ("intVal", "uintVal", "longVal")
_TEXTS: Final = ("strVal", "stringVal")
_DEEPEST: Final = 6


def read_strategy(path: Path, identity: RankIdentity, reading: Reading, reported: Reported) -> None:
    """Read one rank's strategy file."""
    content = read_json(path, reading)
    config, graph = (as_dict(content.get(key)) if isinstance(content, dict) else {} for key in ("config", "graph"))
    nodes = graph.get("node")
    if not isinstance(nodes, list):
        reading.notes.add("mindspore_file_damaged", file=path.name, count=int(content is not None))
        return
    identity.stage = integer(config.get("stageId"))
    identity.mode = identity.mode or (str(config["parallelType"]) if config.get("parallelType") else None)
    groups = _stages(config)
    for node in nodes:
        if not isinstance(node, dict):
            reading.notes.add("mindspore_rows_dropped", file=path.name, place="node")
            continue
        _report_node(node, path.name, reported)
        groups |= _group(node)
    for key in ("parameters", "constVals"):
        reported.add(path.name, "graph", key, len(graph[key]) if isinstance(graph.get(key), list) else 0)
    reported.add(path.name, "graph", "node", len(nodes))
    identity.stated_groups = set(groups)
    rows = [{"group": name, "name": name, "ranks": ranks} for name, ranks in groups.items()]
    schema = {"group": pl.String(), "name": pl.String(), "ranks": pl.List(pl.Int32)}
    reading.out.add(
        "groups",
        pl.DataFrame(rows, schema=schema).with_columns(origin=pl.lit("parallel_strategy"), confidence=pl.lit("stated")),
    )


def _report_node(node: dict[str, Any], file: str, reported: Reported) -> None:
    key = clean_text(str(node.get("fullName") or node.get("name") or ""))
    inputs = node.get("input")
    reported.add(file, key, "inputs", len(inputs) if isinstance(inputs, list) else 0)
    for special in _SPECIAL:
        if special in str(node.get("instanceName", "")):
            reported.add(file, key, special, 1)
    for name, value in _attributes(node).items():
        if name in _STRATEGIES and isinstance(value, list):
            for index, slices in enumerate(value):
                for dimension, count in enumerate(slices if isinstance(slices, list) else []):
                    reported.add(file, key, f"{name}.{index}.{dimension}", count)


def _group(node: dict[str, Any]) -> dict[str, list[int]]:
    """A communication group that the node names together with its ranks."""
    attributes = _attributes(node)
    name, ranks = attributes.get("group"), attributes.get("group_ranks", attributes.get("group_rank_ids"))
    if not isinstance(name, str) or not name:
        return {}
    if isinstance(ranks, str):
        ranks = re.findall(r"\d{1,9}", ranks)
    members = [rank for item in ranks if (rank := integer(item)) is not None] if isinstance(ranks, list) else []
    return {name: members} if members else {}


def _stages(config: dict[str, Any]) -> dict[str, list[int]]:
    groups = {}
    stages = config.get("stageDevices")
    for number, stage in enumerate(stages if isinstance(stages, list) else []):
        sizes = as_dict(stage).get("dim")
        listed = [integer(as_dict(item).get("size")) for item in (sizes if isinstance(sizes, list) else [])]
        ranks = [rank for rank in listed if rank is not None]
        if ranks:
            groups[f"stage {number}"] = ranks
    return groups


def _attributes(node: dict[str, Any]) -> dict[str, Any]:
    listed = node.get("attribute")
    return {
        clean_text(str(item.get("name"))): _value(item.get("value"))
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict)
    }


def _value(value: Any, depth: int = 0) -> Any:
    """A protobuf value as a number, a text or a list of such."""
    own = as_dict(value)
    if isinstance(own.get("values"), list) and depth < _DEEPEST:
        return [_value(item, depth + 1) for item in own["values"]]
    for key in _NUMBERS:
        if key in own:
            return integer(own[key], 1 << 62)
    return next((clean_text(str(own[key])) for key in _TEXTS if key in own), None)
