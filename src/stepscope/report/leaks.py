"""Leaks at a terminal."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.leaks.structures import Leaks, Site
from stepscope.report.console import Console
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text
from stepscope.texts.numbers import byte_size

_MOST = 20
_SITE = ("rank", "site", "confidence", "bytes_per_step", "bytes_at_end", "blocks", "first_step")
_LEAK = "leak"
_UNEXPLAINED, _RESERVED = "unexplained_growth", "reserved_growth"


def show(answer: Answer[Leaks], lang: str) -> None:
    """Graphs and pools that grow, then sites that leak, with the reason, and those that only look like it."""
    data = answer.data
    console = Console(highlight=False)

    def say(key: str, **params: object) -> None:
        console.print(text(key, lang, **params), markup=False, soft_wrap=True)

    leaking = [site for site in data.sites if site.verdict == _LEAK]
    others = [site for site in data.sites if site.verdict != _LEAK and site.bytes_at_end]
    for graph in data.graphs:
        say("report.leaks_graph", where=graph.where, sites=graph.sites, rate=byte_size(graph.bytes_per_step))
    for pool in data.pools:
        named = {"pool": pool.pool, "device": pool.device, "rank": pool.rank}
        if pool.verdict == _UNEXPLAINED:
            say("report.leaks_unexplained", rate=byte_size(pool.unexplained_bytes_per_step), **named)
        elif pool.verdict == _RESERVED:
            say("report.leaks_reserved", rate=byte_size(pool.reserved_bytes_per_step), **named)
    if leaking:
        show_table(_frame(leaking, lang), Site, lang, _MOST)
    if others:
        show_table(_frame(others, lang), Site, lang, _MOST, text("report.leaks_not", lang))


def _frame(sites: list[Site], lang: str) -> pl.DataFrame:
    reasons = pl.Series("reason", [reason(site, lang) for site in sites], dtype=pl.String)
    return frame_of(sites, _SITE).with_columns(reasons)


def reason(site: Site, lang: str) -> str:
    """The sentence of a site's verdict."""
    return text(f"leak_reason.{site.reason}", lang, **site.reason_values)
