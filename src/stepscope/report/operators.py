"""Operators and kernels at a terminal."""

from __future__ import annotations

from typing import Final

import polars as pl
from rich.console import Console

from stepscope.analysis.answer import Answer
from stepscope.analysis.operators.kernel_names import short_name
from stepscope.report.tables import show_table
from stepscope.texts import text

_MOST: Final = 20
_LONG: Final = 60
_ALWAYS: Final = ("name", "core", "operator", "count", "total_us", "avg_us", "p50_us", "p95_us", "max_us", "share")
_WHERE_KNOWN: Final = ("self_us", "device_total_us", "device_self_us", "per_step_us", "input_shapes")


def show(answer: Answer[pl.DataFrame], lang: str) -> None:
    """For each rank and side a verdict, then the longest rows."""
    console = Console(highlight=False)
    for (rank, side), rows in answer.data.group_by("rank", "side", maintain_order=True):
        console.print(_verdict(rows, int(str(rank)), str(side), lang), markup=False, soft_wrap=True)
        shown = [name for name in _ALWAYS if name in ("name", "share") or rows[name].null_count() < len(rows)]
        shown += [name for name in _WHERE_KNOWN if rows[name].null_count() < len(rows)]
        if rows["operator"].equals(rows["name"].alias("operator")):
            shown.remove("operator")
        names = pl.Series("name", [_readable(name) for name in rows["name"]], dtype=pl.String)
        show_table(rows.with_columns(names).select(shown), lang, most=_MOST)


def _verdict(rows: pl.DataFrame, rank: int, side: str, lang: str) -> str:
    first = rows.row(0, named=True)
    own = float(rows["self_us" if side == "host" else "total_us"].sum())
    whole = own / (float(rows["share"].sum()) or 1)  # of all rows, also where the answer has only the longest
    return text(
        "report.operators_device" if side == "device" else "report.operators_host",
        lang,
        rank=rank,
        total=f"{whole / 1000:,.3f}",
        name=_readable(first["name"]),
        share=f"{100 * (first['share'] or 0):.1f}",
    )


def _readable(name: str | None) -> str:
    """Long names of kernels made short, so that a row fits a line."""
    if name is None:
        return "-"
    return short_name(name) if len(name) > _LONG and any(bracket in name for bracket in "<(") else name
