"""``layout_conversion``: between operators, tensors are brought into another layout or numbers into another type."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.kernels import asking_operator, leading_operator, line_of, longest_kernels
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.computing import CAST, LAYOUT, Computing
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts

_TITLES: Final = {LAYOUT: "finding_title.layout_conversion", CAST: "finding_title.cast_conversion"}
_ADVICE: Final = {LAYOUT: "finding_advice.layout_conversion", CAST: "finding_advice.cast_conversion"}


def judge(run: RunContext) -> list[Finding]:
    """Ranks that spend a part of the step on conversions."""
    losses = [
        loss
        for computing in run.computing.values()
        for role in (LAYOUT, CAST)
        if (loss := _loss(run, computing, role)) is not None
    ]
    return findings_of(run, "layout_conversion", losses, Next(("operators --by operator", "drill"), "operators"))


def _loss(run: RunContext, computing: Computing, role: str) -> Loss | None:
    # Those of an unfused attention go away with it (kernel_fusion).
    groups = computing.groups.filter((pl.col("role") == role) & ~pl.col("in_attention"))
    time_us = float(groups["us"].sum())
    share = computing.share(time_us)
    enough = share >= finding_facts().layout_conversion.least_cast_share if role == CAST else worth_telling(share)
    if not enough:
        return None
    operator = leading_operator(groups)
    asked_by = asking_operator(run.store, computing.rank, groups)
    shown = f"{asked_by} → {operator}" if asked_by and asked_by != operator else operator
    return Loss(
        rank=computing.rank,
        cause=role,
        title=_TITLES[role],
        advice=_ADVICE[role],
        gain_us=time_us,
        gain_share=share,
        gain_method="kernels_removed",
        where=Where(operator=operator, site=line_of(run.store, computing.rank, groups)),
        words={"operator": shown or "?"},
        evidence=[
            number("conversion_share", share, "share", link="operators"),
            number("conversion_kernels", float(groups["count"].sum()), "kernels", link="operators"),
        ],
        proof=longest_kernels(computing.rank, groups),
    )


RULE = Rule(kinds=("layout_conversion",), needs=("single_kernels",), judge=judge)
