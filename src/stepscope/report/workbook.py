"""All tables of a run as one workbook for spreadsheet programs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.errors import UsageError

_LONGEST_NAME: Final = 31  # of a sheet, by the format
_MOST_ROWS: Final = 1_048_575  # beside the header


def check_installed() -> None:
    """Say what to install where the library is missing, before anything is read."""
    if importlib.util.find_spec("xlsxwriter") is None:
        raise UsageError("xlsx_not_installed")


def write(frames: dict[str, pl.DataFrame], path: Path) -> None:
    """A sheet per table. Texts stay texts, whatever they begin with."""
    import xlsxwriter

    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with path.open("wb") as file, xlsxwriter.Workbook(file, options | {"nan_inf_to_errors": True}) as book:
        for name, frame in zip(_sheets(list(frames)), frames.values(), strict=True):
            frame.head(_MOST_ROWS).write_excel(book, name, autofit=len(frame) < 1000)


def _sheets(names: list[str]) -> list[str]:
    """Names that the format allows, each once.

    >>> _sheets(["memory_fragmentation_of_the_segments_a", "memory_fragmentation_of_the_segments_b"])
    ['memory_fragmentation_of_the_seg', 'memory_fragmentation_of_the_s~2']
    """
    sheets: list[str] = []
    for name in names:
        plain = re.sub(r"[\[\]:*?/\\']", "_", name)
        sheet, number = plain[:_LONGEST_NAME], 2
        while sheet.lower() in {other.lower() for other in sheets}:
            mark = f"~{number}"
            sheet, number = plain[: _LONGEST_NAME - len(mark)] + mark, number + 1
        sheets.append(sheet)
    return sheets
