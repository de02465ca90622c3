"""An example: one kernel that takes most of the device's time."""

from __future__ import annotations

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule


def judge(run: RunContext) -> list[Finding]:
    """The longest kernel, where it has most of the time."""
    operators: pl.DataFrame | None = run.answer("operators")
    if operators is None:
        return []
    longest = operators.row(0, named=True)
    loss = Loss(
        rank=longest["rank"],
        cause="kernel",
        title="finding_title.longest_kernel",
        advice="finding_advice.longest_kernel",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        severity="info",
        where=Where(operator=longest["name"]),
        words={"name": longest["name"]},
        evidence=[number("kernel_share", longest["share"], "share", link="operators")],
    )
    return findings_of(run, "compute_hotspot", [loss], Next(("operators",), "operators"))


RULE = Rule(kinds=("compute_hotspot",), needs=("step_times",), judge=judge)
