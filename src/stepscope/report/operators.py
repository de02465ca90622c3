"""Operators and kernels at a terminal."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.facts.kernel_names import short_name
from stepscope.report.console import Console
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
            shown = [name for name in shown if name != "operator"]  # it would repeat the names
        names = pl.Series("name", [_readable(name) for name in rows["name"]], dtype=pl.String)
        show_table(rows.with_columns(names).select(shown), lang, most=_MOST)


def _verdict(rows: pl.DataFrame, rank: int, side: str, lang: str) -> str:
    named = rows.filter(pl.col("name").is_not_null())
    own = float(rows["self_us" if side == "host" else "total_us"].sum())
    whole = own / (float(rows["share"].sum()) or 1)  # of all rows, also where the answer has only the longest
    total = f"{whole / 1000:,.3f}"
    if named.is_empty():
        unnamed = "report.operators_device_unnamed" if side == "device" else "report.operators_host_unnamed"
        return text(unnamed, lang, rank=rank, total=total)
    longest = named.row(0, named=True)
    name, share = _readable(longest["name"]), f"{100 * (longest['share'] or 0):.1f}"
    key = "report.operators_device" if side == "device" else "report.operators_host"
    return text(key, lang, rank=rank, total=total, name=name, share=share)


def _readable(name: str | None) -> str:
    """Long names of kernels made short, so that a row fits a line."""
    if name is None:
        return "-"
    return short_name(name) if len(name) > _LONG and any(bracket in name for bracket in "<(") else name
