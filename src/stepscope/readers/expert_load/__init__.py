"""How often a mixture-of-experts model chose each expert: the dumps that MindStudio Insight shows as expert hotspots.

``prefill_N.csv`` and ``decode_N.csv`` hold one row per layer and one column per expert on rank N (or all experts of
the model); ``model_gen_config.json`` says how many layers and experts the model has.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import read_json, read_text
from stepscope.readers.reader import claims_no_file as claim_file

__all__ = ["claim", "claim_file", "read"]

READER: Final = "expert_load"
_CONFIG: Final = "model_gen_config.json"
_DUMP: Final = re.compile(r"(prefill|decode)_(\d{1,9})\.csv")
_MOST_DIGITS: Final = 15  # a count of tokens; larger ones are no numbers of this kind


def claim(directory: Path, _folders: list[str], files: list[str]) -> list[Source] | None:
    """One source per rank of a directory with the dumps and the model's description."""
    dumps: dict[int, list[Path]] = defaultdict(list)
    for name in sorted(files):
        if match := _DUMP.fullmatch(name):
            dumps[int(match[2])].append(directory / name)
    if not dumps or _CONFIG not in files:
        return None
    config = directory / _CONFIG
    return [Source(directory, READER, rank, (*paths, config)) for rank, paths in sorted(dumps.items())]


def read(reading: Reading) -> None:
    """The counts of one rank into ``reported``: step is the layer, key the expert, metric the phase."""
    model = _model(reading.source.path / _CONFIG, reading.unobserved())  # all is told at the end
    counted = 0
    for path in reading.source.files:
        match = _DUMP.fullmatch(path.name)
        if match is None:
            continue
        rows = _counts(path, reading.unobserved())
        counted += rows.height
        layers, experts = model.get("num_moe_layers"), model.get("num_of_experts")
        given = rows["step"].n_unique() if rows.height else 0
        if isinstance(layers, int) and given != layers:
            reading.notes.add("expert_layers_differ", file=path.name, given=given, stated=layers)
        metric = pl.lit(f"{match[1]} tokens")
        reading.out.add("reported", rows.with_columns(file=pl.lit(path.name), metric=metric))
        if isinstance(experts, int) and rows.height:
            reading.out.add("reported", _imbalance(rows, path.name, match[1]))
    if not counted:
        raise UnreadableInputError("no_events", path=str(reading.source.path))
    row = {"device_kind": "npu", "source": str(reading.source.path), "switches": json.dumps(model, default=str)}
    reading.out.add("ranks", pl.DataFrame([row]))
    reading.took(reading.source.bytes)


def _model(path: Path, reading: Reading) -> dict[str, Any]:
    content = read_json(path, reading)
    return content if isinstance(content, dict) else {}


def _counts(path: Path, reading: Reading) -> pl.DataFrame:
    """Layer, expert and count of each cell; cells that are no count are noted and left out."""
    cells: list[tuple[int, str, float]] = []
    wrong = 0
    for layer, line in enumerate(read_text(path, reading)):
        for expert, cell in enumerate(line.split(",")):
            text = cell.strip()
            if text.isdecimal() and len(text) <= _MOST_DIGITS:
                cells.append((layer, f"expert {expert}", float(text)))
            else:
                wrong += 1
    reading.notes.add("expert_counts_unreadable", file=path.name, count=wrong)
    schema = {"step": pl.Int64, "key": pl.String, "value": pl.Float64}
    return pl.DataFrame(cells, schema=schema, orient="row")


def _imbalance(rows: pl.DataFrame, file: str, phase: str) -> pl.DataFrame:
    """Per layer the busiest expert over the mean, which is 1 where all are chosen alike."""
    by_layer = rows.group_by("step", maintain_order=True).agg(value=pl.col("value").max() / pl.col("value").mean())
    return by_layer.filter(pl.col("value").is_finite()).with_columns(
        file=pl.lit(file), key=pl.lit("layer"), metric=pl.lit(f"{phase} max/mean")
    )
