"""``tail_long``: much work between the end of backward and the end of the step, besides the update of parameters."""

from __future__ import annotations

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.kernels import leading_operator, line_of, longest_kernels
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule


def judge(run: RunContext) -> list[Finding]:
    """Ranks that compute something else behind backward, in most steps."""
    losses = []
    for rank, computing in run.computing.items():
        share = computing.share(computing.tail_us)
        if not worth_telling(share):
            continue
        groups = computing.groups.filter("in_tail")
        operator = leading_operator(groups)
        losses.append(
            Loss(
                rank=rank,
                cause="beside_update",
                title="finding_title.tail_long",
                advice="finding_advice.tail_long",
                gain_us=computing.tail_us,
                gain_share=share,
                gain_method="kernels_removed",
                where=Where(operator=operator, site=line_of(run.store, rank, groups)),
                words={"operator": operator or "?"},
                evidence=[
                    number("tail_work_share", share, "share", link="steps"),
                    number("tail_kernels", float(groups["count"].sum()), "kernels", link="operators"),
                ],
                proof=longest_kernels(rank, groups.sort(pl.col("us"), descending=True)),
            )
        )
    return findings_of(run, "tail_long", losses, Next(("steps", "operators --by operator"), "steps"))


RULE = Rule(kinds=("tail_long",), needs=("kernels", "backward"), judge=judge)
