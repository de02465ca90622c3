"""Operators and kernels at a terminal."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.operators.question import Operator, OperatorTotal
from stepscope.report.console import Console
from stepscope.report.kernel_labels import readable_name
from stepscope.report.rank_lines import of_first_ranks
from stepscope.report.tables import cell, show_table
from stepscope.texts import text

_MOST: Final = 20
_ALWAYS: Final = ("name", "core", "operator", "count", "total_us", "avg_us", "p50_us", "p95_us", "max_us", "share")
_WHERE_KNOWN: Final = ("self_us", "device_total_us", "device_self_us", "per_step_us", "input_shapes")


def show(answer: Answer[pl.DataFrame], lang: str) -> None:
    """For each rank and side a verdict, then the longest rows."""
    console = Console(highlight=False)
    totals: list[OperatorTotal] = answer.beside["totals"]
    for total in of_first_ranks(totals, console, lang):
        rows = answer.data.filter(rank=total.rank, side=total.side)
        console.print(_verdict(rows, total, lang), markup=False, soft_wrap=True)
        shown = [name for name in _ALWAYS if name in ("name", "share") or rows[name].null_count() < len(rows)]
        shown += [name for name in _WHERE_KNOWN if rows[name].null_count() < len(rows)]
        if rows["operator"].equals(rows["name"].alias("operator")):
            shown = [name for name in shown if name != "operator"]  # it would repeat the names
        names = pl.Series("name", [readable_name(name) for name in rows["name"]], dtype=pl.String)
        show_table(
            rows.with_columns(names).select(shown),
            Operator,
            lang,
            most=_MOST,
            spare=(
                "p50_us",
                "max_us",
                "avg_us",
                "core",
                "p95_us",
                "per_step_us",
                "self_us",
                "device_self_us",
                "operator",
            ),
        )


def _verdict(rows: pl.DataFrame, total: OperatorTotal, lang: str) -> str:
    named = rows.filter(pl.col("name").is_not_null())
    told = {"rank": total.rank, "total": cell(total.total_us, unit="ms")}
    if named.is_empty():
        unnamed = "report.operators_device_unnamed" if total.side == "device" else "report.operators_host_unnamed"
        return text(unnamed, lang, **told)
    longest = named.sort("total_us", descending=True, maintain_order=True).row(0, named=True)
    name, share = readable_name(longest["name"]), cell(longest["share"] or 0.0, unit="%")
    key = "report.operators_device" if total.side == "device" else "report.operators_host"
    return text(key, lang, name=name, share=share, **told)
