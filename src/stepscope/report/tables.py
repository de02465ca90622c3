"""Frames as tables: readable units and thousands, numbers to the right, and a word on what was left out.

A frame does not say the units of its columns, so each table is told the type of its rows.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import polars as pl
from rich.table import Table
from rich.text import Text

from stepscope.questions.units import units_within
from stepscope.report.console import Console
from stepscope.texts import text

_ANY_WIDTH: Final = 10_000
# Microseconds from here on are shown as milliseconds.
_LONG_US: Final = 10_000


def wide_console() -> Console:
    """Standard output; as wide as a table needs where it is no terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _ANY_WIDTH)


def show_table(frame: pl.DataFrame, rows: Any, lang: str, most: int = 20, title: str | None = None) -> None:
    """The first rows of a frame; ``rows`` is their type, whose units stand in the headers."""
    console = wide_console()
    if title:
        console.print(title, markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    units = units_within(rows)
    shown_units = []
    for name, kind in frame.schema.items():
        number = kind.is_numeric()
        unit = units.get(name, "")
        shown_units.append(readable_unit(unit, frame[name]))
        label = heading(name, unit, shown_units[-1])
        table.add_column(
            Text(label.replace(" ", "\n") if number else label),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="ellipsis" if number else "fold",
        )
    for row in frame.head(most).iter_rows():
        table.add_row(*(Text(cell(value, unit)) for value, unit in zip(row, shown_units, strict=True)))
    console.print(table)
    if len(frame) > most:
        console.print(text("report.more_rows", lang, count=len(frame) - most), markup=False)


#: How the unit of a field is shown, where it is shown otherwise.
_SHOWN: Final = {
    "us2": "us²",
    "bytes": "MiB",
    "bytes_per_step": "MiB/step",
    "bytes_per_s": "MB/s",
    "byte_seconds": "MiB·s",
    "share": "%",
    "flops": "GFLOP",
    "flops_per_s": "TFLOP/s",
    "flops_per_byte": "FLOP/byte",
    "gb_per_s": "GB/s",
    "per_s": "1/s",
}
#: What a shown unit is worth, and how its numbers are written.
_SCALES: Final = {
    "ms": (1000, ",.3f"),
    "us": (1, ",.3f"),
    "MiB": (2**20, ",.2f"),
    "MiB/step": (2**20, ",.2f"),
    "MiB·s": (2**20, ",.2f"),
    "%": (0.01, ",.1f"),
    "GFLOP": (1e9, ",.3f"),
    "TFLOP/s": (1e12, ",.3f"),
    "GB/s": (1, ",.3f"),
    "ppm": (1, ",.3f"),
    "MB/s": (1e6, ",.1f"),
}
#: Units that need no word in a header.
UNWRITTEN: Final = ("", "count", "id", "ratio", "beside")


def readable_unit(unit: str, values: pl.Series) -> str:
    """The unit in which the numbers of a column read best."""
    if unit == "us":
        largest = values.abs().max() if values.dtype.is_numeric() else None
        return "ms" if isinstance(largest, (int, float)) and largest >= _LONG_US else "us"
    return _SHOWN.get(unit, unit)


def heading(field: str, unit: str = "", shown_unit: str = "") -> str:
    """A field's name for people, with the unit that its numbers are shown in.

    >>> heading("forward_backward_us", "us", "ms"), heading("share", "share", "%"), heading("step", "id", "id")
    ('forward backward [ms]', 'share [%]', 'step')
    """
    words = field.removesuffix(f"_{unit}").replace("_", " ")
    return words if shown_unit in UNWRITTEN else f"{words} [{shown_unit}]"


def cell(value: Any, unit: str = "") -> str:
    """A value for people.

    >>> cell(1234567.8, "ms"), cell(0.123, "%"), cell(3 * 2**20, "MiB"), cell(None)
    ('1,234.568', '12.3', '3.00', '')
    >>> cell(1234, "count"), cell(1234, "id"), cell([0, 1])
    ('1,234', '1234', '0, 1')
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
        return f"{value:,}" if unit == "count" else str(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
