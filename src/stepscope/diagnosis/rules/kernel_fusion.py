"""``kernel_fusion``: long rows of elementwise kernels, each of which reads and writes everything once more."""

from __future__ import annotations

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence import number
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.kernel_evidence import leading_operator, line_of, longest_kernels
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule


def judge(run: RunContext) -> list[Finding]:
    """Ranks that would save a part of the step if each such row took as long as its longest kernel."""
    losses = []
    for rank, computing in run.computing.items():
        share = computing.share(computing.fusible_us)
        if not worth_telling(share):
            continue
        groups = computing.groups.filter("chained")
        operator = leading_operator(groups)
        losses.append(
            Loss(
                rank=rank,
                cause="elementwise",
                title="finding_title.kernel_fusion",
                advice="finding_advice.kernel_fusion",
                gain_us=computing.fusible_us,
                gain_share=share,
                gain_method="fused",
                where=Where(operator=operator, site=line_of(run.store, rank, groups)),
                words={"operator": operator or "?", "length": f"{computing.chain_length:.0f}"},
                evidence=[
                    number("fusible_share", share, "share", link="operators"),
                    number("fusible_kernels", float(groups["count"].sum()), "kernels", link="operators"),
                    number("chain_length", computing.chain_length, "kernels", link="timeline"),
                ],
                proof=longest_kernels(rank, groups.sort(pl.col("us"), descending=True)),
            )
        )
    return findings_of(run, "kernel_fusion", losses, Next(("operators --by operator", "drill"), "operators"))


RULE = Rule(kinds=("kernel_fusion",), needs=("kernels",), judge=judge)
