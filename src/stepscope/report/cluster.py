"""A job as a whole at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster import Cluster
from stepscope.analysis.cluster.part_times import PartTimes
from stepscope.analysis.cluster.slowdown.types import Slowdown
from stepscope.report.console import Console
from stepscope.report.tables import cell, frame_of, show_table
from stepscope.texts import text
from stepscope.texts.numbers import ranges

_PART: Final = (
    "period_us",
    "computing_us",
    "exposed_communication_us",
    "idle_us",
    "wait_us",
    "caused_wait_us",
    "computing_spread_share",
    "slowest_rank",
)


def show(answer: Answer[Cluster], lang: str) -> None:
    """The plan and the slowdown in a sentence each, then stages, dimensions, hosts, ranks and operations."""
    data = answer.data
    split = " × ".join(f"{each.dimension}={each.size}" for each in data.plan.dimensions if each.size > 1)
    certainty = text(f"plan_certainty.{data.plan.confidence}", lang)
    plan = text(
        "report.cluster_plan" if split else "report.cluster_plan_unknown",
        lang,
        ranks=data.plan.world_size,
        plan=split,
        confidence=certainty,
    )
    Console(highlight=False).print(plan, markup=False, soft_wrap=True)
    if data.slowdown is not None:
        _sentence(data.slowdown, lang)
    _parts(data.by_dimension, ("dimension", "index"), text("report.cluster_parts_title", lang), lang)
    _parts(data.hosts, ("host",), text("report.cluster_hosts_title", lang), lang)
    if data.slowdown is not None:
        _table(data.slowdown.by_rank, text("report.cluster_ranks_title", lang), lang)
        _table(data.slowdown.by_stage, text("report.cluster_stages_title", lang), lang)
        _table(data.slowdown.by_operation, text("report.cluster_operations_title", lang), lang)


def _sentence(slowdown: Slowdown, lang: str) -> None:
    """How far the step is from the ideal one, and whose fault that is where the loss is large enough to be divided."""
    said = [
        text(
            "report.cluster_total",
            lang,
            total=cell(slowdown.total),
            measured=cell(slowdown.measured_us, unit="ms"),
            replayed=cell(slowdown.replayed_us, unit="ms"),
            ideal=cell(slowdown.ideal_us, unit="ms"),
            error=cell(slowdown.replay_error_share, unit="%"),
        )
    ]
    if slowdown.worst_ranks_share is not None:
        ranks, share = slowdown.worst_ranks, cell(slowdown.worst_ranks_share, unit="%")
        said.append(text("report.cluster_worst", lang, count=len(ranks), ranks=ranges(ranks), share=share))
    if slowdown.last_stage_share is not None:
        said.append(text("report.cluster_last", lang, share=cell(slowdown.last_stage_share, unit="%")))
    between = " " if lang == "en" else ""
    Console(highlight=False).print(between.join(said), markup=False, soft_wrap=True)


def _parts(parts: Sequence[PartTimes], names: tuple[str, ...], title: str, lang: str) -> None:
    if len(parts) > 1:
        show_table(frame_of(parts, (*names, *_PART)), PartTimes, lang, title=title, one_unit=True)


def _table(entries: Sequence[msgspec.Struct], title: str, lang: str) -> None:
    if entries:
        show_table(frame_of(entries), type(entries[0]), lang, title=title)
