"""``kernel_fusion``: kernels that read and write everything once more, where one fused kernel would do it once."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.kernels import leading_operator, line_of, longest_kernels
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.computing import Computing
from stepscope.diagnosis.rule import Rule

_TITLES: Final = {"elementwise": "finding_title.kernel_fusion", "optimizer": "finding_title.unfused_optimizer"}
_ADVICE: Final = {"elementwise": "finding_advice.kernel_fusion", "optimizer": "finding_advice.unfused_optimizer"}


def judge(run: RunContext) -> list[Finding]:
    """Ranks that compute attention in pieces, or run long rows of elementwise kernels."""
    losses = [
        loss
        for computing in run.computing.values()
        for loss in (_attention(run, computing), _elementwise(run, computing))
        if loss is not None
    ]
    return findings_of(run, "kernel_fusion", losses, Next(("operators --by operator", "drill"), "operators"))


def _attention(run: RunContext, computing: Computing) -> Loss | None:
    """What a fused attention would save: all between its products."""
    groups = computing.groups.filter("in_attention")
    time_us = float(groups["us"].sum())
    share = computing.share(time_us)
    if not worth_telling(share):
        return None
    softmax = groups.filter(pl.col("category").cast(pl.String) == "softmax")
    operator = leading_operator(softmax)
    return Loss(
        rank=computing.rank,
        cause="attention",
        title="finding_title.unfused_attention",
        advice="finding_advice.unfused_attention",
        gain_us=time_us,
        gain_share=share,
        gain_method="fused",
        where=Where(operator=operator, site=line_of(run.store, computing.rank, softmax)),
        evidence=[
            number("attention_share", share, "share", link="operators"),
            number("attention_kernels", float(groups["count"].sum()), "kernels", link="operators"),
        ],
        proof=longest_kernels(computing.rank, groups),
    )


def _elementwise(run: RunContext, computing: Computing) -> Loss | None:
    """What each long row would save if it took as long as its longest kernel."""
    share = computing.share(computing.fusible_us)
    if not worth_telling(share):
        return None
    groups = computing.groups.filter("chained")
    operator = leading_operator(groups)
    cause = "optimizer" if _mostly_updates(groups) else "elementwise"
    return Loss(
        rank=computing.rank,
        cause=cause,
        title=_TITLES[cause],
        advice=_ADVICE[cause],
        gain_us=computing.fusible_us,
        gain_share=share,
        gain_method="fused",
        where=Where(operator=operator, site=line_of(run.store, computing.rank, groups)),
        words={"operator": operator or "?"},
        evidence=[
            number("fusible_share", share, "share", link="operators"),
            number("fusible_kernels", float(groups["count"].sum()), "kernels", link="operators"),
            number("chain_length", computing.chain_length, "kernels", link="timeline"),
        ],
        proof=longest_kernels(computing.rank, groups.sort(pl.col("us"), descending=True)),
    )


def _mostly_updates(groups: pl.DataFrame) -> bool:
    """Whether most of the time is that of updates of parameters, one after the other."""
    updates = groups.filter(pl.col("phase").cast(pl.String) == "optimizer")
    return float(updates["us"].sum()) * 2 > float(groups["us"].sum())


RULE = Rule(kinds=("kernel_fusion",), needs=("single_kernels",), judge=judge)
