"""Frames as tables: readable units and thousands, numbers to the right, and a word on what was left out."""

from __future__ import annotations

import sys
from typing import Any, Final

import polars as pl
from rich.table import Table
from rich.text import Text

from stepscope.questions import units
from stepscope.report.console import Console
from stepscope.texts import text

_ANY_WIDTH: Final = 10_000
# Microseconds from here on are shown as milliseconds.
_LONG_US: Final = 10_000


def wide_console() -> Console:
    """Standard output; as wide as a table needs where it is no terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _ANY_WIDTH)


def show_table(frame: pl.DataFrame, lang: str, most: int = 20, title: str | None = None) -> None:
    """The first rows of a frame; units stand in the headers."""
    console = wide_console()
    if title:
        console.print(title, markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    columns = []
    for name, kind in frame.schema.items():
        unit = _unit(name, frame[name])
        columns.append((name, unit))
        number = kind.is_numeric()
        words = Text(heading(name, unit).replace(" ", "\n") if number else heading(name, unit))
        table.add_column(
            words, justify="right" if number else "left", no_wrap=number, overflow="ellipsis" if number else "fold"
        )
    for row in frame.head(most).iter_rows():
        table.add_row(*(Text(cell(value, name, unit)) for value, (name, unit) in zip(row, columns, strict=True)))
    console.print(table)
    if len(frame) > most:
        console.print(text("report.more_rows", lang, count=len(frame) - most), markup=False)


#: How a unit is shown.
_SHOWN: Final = {
    units.MICROSECONDS: "us",
    units.NANOSECONDS: "ns",
    units.BYTES: "MiB",
    units.SHARE: "%",
    units.FLOPS: "GFLOP",
    units.FLOPS_PER_SECOND: "TFLOP/s",
    units.GIGABYTES_PER_SECOND: "GB/s",
}
#: What a shown unit is worth, and how its numbers are written.
_SCALES: Final = {
    "ms": (1000, ",.3f"),
    "us": (1, ",.3f"),
    "MiB": (2**20, ",.2f"),
    "%": (0.01, ",.1f"),
    "GFLOP": (1e9, ",.3f"),
    "TFLOP/s": (1e12, ",.3f"),
    "GB/s": (1, ",.3f"),
}


def _unit(field: str, values: pl.Series) -> str:
    unit = _SHOWN.get(units.unit_of(field) or "", "") if values.dtype.is_numeric() else ""
    if unit == "us":
        largest = values.abs().max()
        return "ms" if isinstance(largest, (int, float)) and largest >= _LONG_US else "us"
    return unit


def heading(field: str, unit: str = "") -> str:
    """A field's name for people.

    >>> heading("forward_backward_us", "ms"), heading("share", "%"), heading("peak_bytes", "MiB"), heading("step")
    ('forward backward [ms]', 'share [%]', 'peak [MiB]', 'step')
    """
    words = units.without_unit(field).replace("_", " ")
    return f"{words} [{unit}]" if unit else words


def cell(value: Any, field: str = "", unit: str = "") -> str:
    """A value for people.

    >>> cell(1234567.8, unit="ms"), cell(0.123, unit="%"), cell(3 * 2**20, unit="MiB"), cell(1234, "step"), cell(None)
    ('1,234.568', '12.3', '3.00', '1234', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "✓" if value else ""
    if isinstance(value, (int, float)):
        if unit in _SCALES:
            worth, written = _SCALES[unit]
            return format(value / worth, written)
        if isinstance(value, float):
            return f"{value:,.3f}" if abs(value) < 1e6 else f"{value:.4g}"
        return f"{value:,}" if field in ("count", "blocks", "samples") else str(value)
    return str(value)
