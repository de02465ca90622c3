"""Frames as tables: readable units and thousands, numbers to the right, and a word on what was left out.

A frame does not say the units of its columns, so each table is told the type of its rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import polars as pl
from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from stepscope.questions.units import units_within
from stepscope.report.console import Console
from stepscope.texts import entries, text
from stepscope.texts.numbers import ranges

_ANY_WIDTH: Final = 10_000
# Microseconds from here on are shown as milliseconds.
_LONG_US: Final = 10_000
#: To what width a text may be folded, and what stands between columns.
_LEAST_TEXT: Final = 28
_BETWEEN: Final = 2


def wide_console() -> Console:
    """Standard output; as wide as a table needs where it is no terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _ANY_WIDTH)


def frame_of(structures: Iterable[msgspec.Struct], columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Structures as the rows of a frame, with all of their fields or those named."""
    frame = pl.DataFrame([msgspec.to_builtins(each) for each in structures], infer_schema_length=None)
    return frame if columns is None or frame.is_empty() else frame.select(columns)


def show_table(
    frame: pl.DataFrame,
    rows: Any,
    lang: str,
    most: int = 20,
    title: str | None = None,
    spare: Sequence[str] = (),
    one_unit: bool = False,
) -> None:
    """The first rows of a frame; ``rows`` is their type, whose units stand in the headers.

    With ``one_unit`` all times have the same, for rows whose times are parts of one another. Columns of which nothing
    is known are left out. A number is never cut: on a narrow terminal columns are left out, the ``spare`` ones first,
    and that is said.
    """
    console = wide_console()
    if title:
        console.print(title, markup=False, soft_wrap=True)
    frame = frame.select(name for name in frame.columns if frame.is_empty() or _tells(frame[name]))
    left_out: list[str] = []
    units = units_within(rows)
    shown_units = readable_units(frame, units, one_unit)
    while True:
        table = _table(frame.drop(left_out), units, shown_units, lang, most)
        spared = [name for name in [*spare, *reversed(frame.columns[2:])] if name in frame.columns]
        further = [name for name in spared if name not in left_out]
        if not further or _width(console, table) <= console.width:
            break
        left_out.append(further[0])
    console.print(table)
    if len(frame) > most:
        console.print(text("report.more_rows", lang, count=len(frame) - most), markup=False)
    if left_out:
        names = ", ".join(name for name in frame.columns if name in left_out)
        console.print(text("report.columns_left_out", lang, columns=names), markup=False, style="dim")


def _tells(column: pl.Series) -> bool:
    """Whether anything is known in a column."""
    return bool((column.fill_null("") != "").any()) if column.dtype == pl.String else column.null_count() < len(column)


def _width(console: Console, table: Table) -> int:
    """What the table needs, however wide the terminal is: texts can be folded, numbers not."""
    wide = console.options.update(width=_ANY_WIDTH)
    columns = [max(console.measure(each, options=wide).maximum for each in _cells(column)) for column in table.columns]
    texts = [column.overflow == "fold" for column in table.columns]
    widths = [min(width, _LEAST_TEXT) if text else width for width, text in zip(columns, texts, strict=True)]
    return sum(widths) + _BETWEEN * (len(widths) - 1)


def _cells(column: Column) -> Iterator[RenderableType]:
    yield column.header
    yield from column.cells


def _table(
    frame: pl.DataFrame, units: Mapping[str, str], shown_units: Mapping[str, str], lang: str, most: int
) -> Table:
    table = Table(box=None, pad_edge=False)
    for name, kind in frame.schema.items():
        number = kind.is_numeric()
        label = heading(name, units.get(name, ""), shown_units[name], lang)
        table.add_column(
            Text(label.replace(" ", "\n") if number else label),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="ellipsis" if number else "fold",
        )
    for row in frame.head(most).iter_rows():
        table.add_row(*(Text(cell(value, shown_units[name])) for name, value in zip(frame.columns, row, strict=True)))
    return table


#: How the unit of a field is shown, where it is shown otherwise.
_SHOWN: Final = {
    "us": "µs",
    "us2": "µs²",
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
    "µs": (1, ",.3f"),
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


def readable_units(frame: pl.DataFrame, units: Mapping[str, str], one_unit: bool = False) -> dict[str, str]:
    """The unit in which the numbers of each column read best.

    >>> step = pl.DataFrame({"period_us": [20_000.0], "idle_us": [70.5], "idle_share": [0.0035]})
    >>> units = {"period_us": "us", "idle_us": "us", "idle_share": "share"}
    >>> readable_units(step, units)
    {'period_us': 'ms', 'idle_us': 'µs', 'idle_share': '%'}
    >>> readable_units(step, units, one_unit=True)
    {'period_us': 'ms', 'idle_us': 'ms', 'idle_share': '%'}
    """
    longest = {name: _longest(frame[name]) for name in frame.columns if units.get(name) == "us"}
    if one_unit and longest:
        longest = dict.fromkeys(longest, max(longest.values()))
    shown = {name: _SHOWN.get(units.get(name, ""), units.get(name, "")) for name in frame.columns}
    return shown | {name: unit_of_time(time_us) for name, time_us in longest.items()}


def unit_of_time(longest_us: float) -> str:
    """The unit for times of which this is the longest.

    >>> unit_of_time(9_999.0), unit_of_time(10_000.0)
    ('µs', 'ms')
    """
    return "ms" if longest_us >= _LONG_US else "µs"


def _longest(column: pl.Series) -> float:
    longest = column.abs().max() if column.dtype.is_numeric() else None
    return float(longest) if isinstance(longest, (int, float)) else 0.0


def heading(field: str, unit: str = "", shown_unit: str = "", lang: str = "en") -> str:
    """A field's name for people, with the unit that its numbers are shown in.

    >>> heading("forward_backward_us", "us", "ms"), heading("share", "share", "%"), heading("step", "id", "id")
    ('forward backward [ms]', 'share [%]', 'step')
    >>> heading("period_us", "us", "ms", "zh")
    '周期 [ms]'
    """
    words = field.removesuffix(f"_{unit}").replace("_", " ")
    if lang != "en" or field == unit:  # a field of which only the unit is left has a name of its own
        entry = entries("report_column").get(field) or entries("column_name").get(field.removesuffix(f"_{unit}"))
        words = entry[lang] if entry else words
    return words if shown_unit in UNWRITTEN else f"{words} [{shown_unit}]"


def cell(value: Any, unit: str = "") -> str:
    """A value for people.

    >>> cell(1234567.8, "ms"), cell(0.123, "%"), cell(3 * 2**20, "MiB"), cell(None)
    ('1,234.568', '12.3', '3.00', '')
    >>> cell(1234, "count"), cell(1234, "id"), cell([0, 1, 2, 3, 8], "id"), cell([2, 3, 4])
    ('1,234', '1234', '0-3, 8', '2, 3, 4')
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
    if isinstance(value, list):
        return ranges(value) if unit == "id" else ", ".join(map(str, value))
    return str(value)
