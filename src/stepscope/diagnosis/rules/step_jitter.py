"""``step_jitter``: some steps take much longer than the rest, by accident or in a rhythm."""

from __future__ import annotations

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rhythm import long_steps_in_words
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.rank_time import LongSteps
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts


def judge(run: RunContext) -> list[Finding]:
    """Ranks whose long steps together cost something."""
    losses = []
    for rank, time in run.times.items():
        spread = time.spread
        if spread is None or len(spread.long_steps) < finding_facts().step_jitter.least_long_steps:
            continue
        gain = time.period_us - spread.usual_us
        share = time.share(gain)
        if not worth_telling(share):
            continue
        losses.append(
            Loss(
                rank=rank,
                cause="irregular" if spread.rhythm is None else "periodic",
                title="finding_title.step_jitter",
                advice="finding_advice.step_jitter",
                gain_us=gain,
                gain_share=share,
                gain_method="usual_step",
                words={"which": long_steps_in_words(LongSteps(spread.long_steps, spread.rhythm), len(time.steps))},
                # Of a few steps some are always the longer ones.
                severity=None if len(time.steps) >= finding_facts().step_jitter.least_steps else "info",
                evidence=[
                    number("step_mean", time.period_us, "us", link="steps"),
                    number("step_usual", spread.usual_us, "us", link="steps"),
                    number("step_longest", spread.longest_us, "us", link="steps"),
                ],
                steps=spread.long_steps,
                proof=[Proof(rank=rank, page="steps")],
            )
        )
    return findings_of(run, "step_jitter", losses, Next(("steps", "critical-path"), "steps"))


RULE = Rule(kinds=("step_jitter",), needs=("step_times",), judge=judge)
