"""``idle_gap``: the device is idle and neither host, data nor other ranks explain it."""

from __future__ import annotations

from typing import Final

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.gaps import gaps_as_proof
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.losses import IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule

_TITLES: Final = {"dependency": "finding_title.idle_dependency", "unknown": "finding_title.idle_unknown"}
_ADVICE: Final = {"dependency": "finding_advice.idle_dependency", "unknown": "finding_advice.idle_unknown"}


def judge(run: RunContext) -> list[Finding]:
    """Ranks with idle time of a cause that no other rule looks for."""
    losses = []
    for rank, time in run.times.items():
        for cause in ("dependency", "unknown"):
            idle = time.idle_by_cause.get(cause, 0.0)
            share = time.share(idle)
            if not worth_telling(share):
                continue
            losses.append(
                Loss(
                    rank=rank,
                    cause=cause,
                    title=_TITLES[cause],
                    advice=_ADVICE[cause],
                    gain_us=idle,
                    gain_share=share,
                    gain_method=IDLE_REMOVED,
                    # That the device is idle was measured. Waiting for another stream may be what the model needs.
                    confidence="likely" if cause == "unknown" else "suspect",
                    evidence=[
                        number("idle_unexplained_share", share, "share", link="timeline"),
                        number("idle_share", time.share(time.idle_us), "share", link="timeline"),
                    ],
                    proof=gaps_as_proof(run, rank, lambda gap, cause=cause: gap.cause == cause),  # type: ignore[misc]
                )
            )
    return findings_of(run, "idle_gap", losses, Next(("launches", "critical-path"), "launches"))


RULE = Rule(kinds=("idle_gap",), needs=("step_times",), judge=judge)
