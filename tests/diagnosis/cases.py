"""Training loops of a few equal steps, made by hand: 100 us a step, of which the device computes the last part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analysis.launch_cases import Case
from analysis.stores import make_store
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.measures.rank_time import RankTime, Spread
from stepscope.diagnosis.rule import all_rules
from stepscope.store.run_store import RunStore

STEP = 100  # microseconds
STEPS = 6


def loop(idle: float, fill: Callable[[Case, int, float], None] | None = None) -> Case:
    """Each step: the device is idle for ``idle`` us, because its work is launched at the end of that; then it computes.

    ``fill`` puts into the idle time what the host did meanwhile.
    """
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        if fill is not None:
            fill(case, number, begin)
        call = (begin + idle - 2, begin + idle - 1) if idle else (begin, begin + 1)
        kernel = (begin + idle, begin + STEP) if idle else (begin + 1, begin + STEP)
        case.launch(call, kernel, step=number)
    return case


def context(directory: Path, *times: RankTime, device_kind: str | None = None) -> RunContext:
    """A run of which nothing is known but the mean steps of its ranks."""
    run = RunContext(empty_store(directory, [time.rank for time in times], device_kind))
    vars(run)["times"] = {time.rank: time for time in times}
    return run


def empty_store(directory: Path, ranks: list[int], device_kind: str | None = None) -> RunStore:
    """A stored run without any rows but those of its ranks."""
    return make_store(directory, ranks=[{"rank": rank, "device_kind": device_kind} for rank in ranks])


def mean_step(
    rank: int = 0,
    computing: float = 100.0,
    communication: float = 0.0,
    spread: Spread | None = None,
    idle: dict[str, float] | None = None,
) -> RankTime:
    """A mean step of these parts, in microseconds."""
    causes = idle or {}
    whole = computing + communication + sum(causes.values())
    return RankTime(
        rank=rank,
        steps=[1, 2, 3, 4],
        period_us=whole,
        computing_us=computing,
        exposed_communication_us=communication,
        exposed_copy_us=0.0,
        idle_us=sum(causes.values()),
        idle_by_cause=causes,
        spread=spread,
    )


def judged(kind: str, run: RunContext) -> list[Finding]:
    """What the rules of a kind find."""
    rules = [rule for rule in all_rules() if kind in rule.kinds]
    assert rules
    return [finding for rule in rules for finding in rule.judge(run) if finding.kind == kind]
