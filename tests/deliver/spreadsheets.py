"""Reads the sheets of an xlsx file: as much of the format as msprof-analyze writes."""

from __future__ import annotations

import xml.etree.ElementTree as Xml
import zipfile
from pathlib import Path

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheet(path: Path, name: str) -> list[list[str | None]]:
    """The cells of a sheet, row by row."""
    with zipfile.ZipFile(path) as archive:
        sheets = [one.get("name") for one in Xml.fromstring(archive.read("xl/workbook.xml")).iter(f"{_MAIN}sheet")]
        texts = [
            "".join(part.text or "" for part in entry.iter(f"{_MAIN}t"))
            for entry in Xml.fromstring(archive.read("xl/sharedStrings.xml")).iter(f"{_MAIN}si")
        ]
        content = Xml.fromstring(archive.read(f"xl/worksheets/sheet{sheets.index(name) + 1}.xml"))
    return [[_cell(cell, texts) for cell in row.iter(f"{_MAIN}c")] for row in content.iter(f"{_MAIN}row")]


def _cell(cell: Xml.Element, texts: list[str]) -> str | None:
    value = cell.find(f"{_MAIN}v")
    if value is None or value.text is None:
        return None
    return texts[int(value.text)] if cell.get("t") == "s" else value.text
