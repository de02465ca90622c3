"""The files of a text capture: which names are known, and which files are pieces of one table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepscope.facts.ascend import ascend_facts

# {stem}[_slice_{number}][_{timestamp}].{extension}[.gz]; old msprof puts device, model and iteration behind the stem.
_NAME: Final = re.compile(
    r"(?P<stem>[A-Za-z]\w*?)(?:_slice_(?P<piece>\d{1,9}))?(?:_(?P<stamp>\d{14,20}))?\.(?P<extension>csv|json)(?:\.gz)?"
)
_NUMBERS: Final = re.compile(r"(?:_\d{1,9}){1,4}$")


@dataclass(frozen=True)
class KnownFile:
    """One file of the output, by its name alone."""

    path: Path
    stem: str  # without slice, timestamp, rank and extension
    extension: str
    piece: int
    stamp: int


@dataclass
class Deliverables:
    """The files of one rank by stem; the pieces of one table in their order."""

    tables: dict[str, list[Path]] = field(default_factory=dict)  # key: "kernel_details.csv"
    older: list[Path] = field(default_factory=list)  # exports that a newer one of the same table replaced

    def csv(self, stem: str) -> list[Path]:
        return self.tables.get(f"{stem}.csv", [])

    def json(self, stem: str) -> list[Path]:
        return self.tables.get(f"{stem}.json", [])


def known_file(path: Path) -> KnownFile | None:
    """What a file is, if it is one of those that are read.

    >>> known_file(Path("op_summary_slice_1_20250109123456.csv"))
    KnownFile(path=PosixPath('op_summary_slice_1_20250109123456.csv'), stem='op_summary', extension='csv', piece=1, \
stamp=20250109123456)
    >>> known_file(Path("parallel_strategy_3.json")).stem, known_file(Path("zebra.csv"))
    ('parallel_strategy', None)
    """
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    stem = match["stem"]
    names = ascend_facts().files[match["extension"]]
    if stem not in names:
        stem = _NUMBERS.sub("", stem)
        if stem not in names:
            return None
    return KnownFile(path, stem, match["extension"], int(match["piece"] or 0), int(match["stamp"] or 0))


def deliverables(paths: Iterable[Path]) -> Deliverables:
    """Sort files into tables. Of several exports of one table the newest counts; its slices stand in order."""
    by_table: dict[str, list[KnownFile]] = defaultdict(list)
    there = set(paths)
    for path in there:
        is_copy = path.suffix == ".gz" and path.with_suffix("") in there
        if not is_copy and (file := known_file(path)) is not None:
            by_table[f"{file.stem}.{file.extension}"].append(file)
    result = Deliverables()
    for table, files in sorted(by_table.items()):
        sliced = [file for file in files if "_slice_" in file.path.name]
        whole = [file for file in files if "_slice_" not in file.path.name]
        newest_whole = max((file.stamp for file in whole), default=-1)
        if sliced and max(file.stamp for file in sliced) > newest_whole:
            chosen = list({file.piece: file for file in sorted(sliced, key=lambda file: file.stamp)}.values())
        else:
            chosen = [file for file in whole if file.stamp == newest_whole]
        chosen.sort(key=lambda file: (file.piece, file.path.name))
        result.tables[table] = [file.path for file in chosen]
        result.older += [file.path for file in files if file not in chosen]
    return result
