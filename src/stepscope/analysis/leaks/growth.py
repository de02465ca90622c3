"""The test for persistent growth of one site (docs/metrics/leaks.md has the reasons for each part).

Blocks that are kept are looked at first: in which steps were they born? Only where blocks are always replaced, the
bytes tell instead: a buffer that is made again and larger each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stepscope.analysis.leaks.trend import cache_evidence, largest_fall, parts, r_squared
from stepscope.arrays import Bools, Int64s
from stepscope.facts.memory import memory_facts

CONFIRMED, LIKELY, SUSPECT = "confirmed", "likely", "suspect"
_HALVES, _THIRDS = 2, 3


@dataclass(frozen=True)
class Course:
    """What is known of one site, step by step."""

    held: Int64s
    kept: Int64s
    kept_blocks: Int64s
    allocations: Int64s
    depth: int
    distinct_sizes: int
    numbers: Int64s  # of the steps


@dataclass(frozen=True)
class Finding:
    """The verdict on a site; ``reason`` names a sentence of the catalogue's section leak_reason."""

    leaks: bool
    reason: str
    start: int = 0  # the step end from which on it grows
    values: dict[str, str] = field(default_factory=dict)


def confidence(intervals: int) -> str:
    """How sure a verdict over so many intervals between step ends can be."""
    limits = memory_facts().leaks
    if intervals >= limits.confirmed_intervals:
        return CONFIRMED
    return LIKELY if intervals >= limits.likely_intervals else SUSPECT


def _level(intervals: int) -> int:
    return (SUSPECT, LIKELY, CONFIRMED).index(confidence(intervals))


def judge(course: Course, warm_up: int) -> Finding:
    """Whether a site leaks. The first ``warm_up`` steps do not count against it."""
    held = course.held[warm_up - 1 :]
    if not held.any():
        return Finding(False, "freed_in_step" if not course.held.any() else "freed_after_warm_up")
    births = course.kept > 0
    # A block younger than its site's blocks usually get is not kept, it is on its way.
    watched = births[warm_up : len(births) - course.depth]
    finding = _kept(course, watched, warm_up) if watched.any() else _steady(course, held, warm_up)
    kept = int(course.kept[warm_up : len(births) - course.depth].sum())
    if not finding.leaks and 2 * kept < int(held[-1] - held[0]):
        return _replaced(held, warm_up) or finding
    return finding


def _kept(course: Course, births: Bools, warm_up: int) -> Finding:
    """Blocks are kept beyond the usual life. ``births``: in which of the steps watched."""
    limits = memory_facts().leaks
    birth_steps = np.flatnonzero(births)
    count, first, last = len(birth_steps), int(birth_steps[0]), int(birth_steps[-1])
    values = {"births": str(count), "steps": str(len(births))}
    if count == 1:
        return Finding(False, "one_off", values={"step": str(course.numbers[first + warm_up])})
    rate = count / (last - first + 2)
    goes_on = _goes_on(course, births, warm_up)
    improbable = limits.improbable_pause[_level(len(course.held) - warm_up)]
    if goes_on:
        improbable = limits.improbable_pause_while_allocating
    if (1 - rate) ** (len(births) - 1 - last) < improbable:
        return Finding(False, "saturated", values=values)
    start, late = warm_up - 1, (1 - rate) ** first < improbable
    if late:
        start += first
        births = births[first:]
        if len(births) + course.depth < limits.least_late_steps or count < limits.least_late_events:
            return Finding(False, "too_recent", start, values)
    intervals = len(course.held) - 1 - start
    level = _level(intervals)
    if count < limits.least_events[level]:
        return Finding(False, "rare", start, values)
    growth = int(course.held[-1] - course.held[start])
    if 2 * growth < int(course.kept[start + 1 : len(course.kept) - course.depth].sum()):
        return Finding(False, "flat", start, values)
    reason = None if goes_on and level else _not_steady(course, births, start, level)
    if reason is not None:
        return Finding(False, reason, start, values)
    return Finding(True, "kept_late" if late else "kept", start, values | {"step": str(course.numbers[start + 1])})


def _goes_on(course: Course, births: Bools, warm_up: int) -> bool:
    """Whether it allocates also in steps of which nothing stays: then it is no cache that finds its entries."""
    allocates = course.allocations[warm_up : warm_up + len(births)] > 0
    return bool(2 * int((allocates & ~births).sum()) >= max(int((~births).sum()), 1))


def _not_steady(course: Course, births: Bools, start: int, level: int) -> str | None:
    """Why births are not those of a leak: they stop, or become rarer like those of a cache."""
    limits = memory_facts().leaks
    if level == 0:
        return None if all(births[part].any() for part in parts(len(births), _HALVES)) else "saturated"
    if not all(births[part].any() for part in parts(len(births), _THIRDS)):
        return "saturated"
    gaps = np.diff(np.flatnonzero(births))
    if np.ptp(gaps) <= 1:
        return None
    kept_blocks = int(course.kept_blocks.sum())
    distinct = course.distinct_sizes == kept_blocks
    limit = limits.cache_evidence_distinct if distinct else limits.cache_evidence_repeated
    entries = int((course.kept_blocks[: start + 1] > 0).sum())
    return "slowing" if cache_evidence(births, entries) > limit else None


def _replaced(held: Int64s, warm_up: int) -> Finding | None:
    """Each block goes, but the next one is larger."""
    return Finding(True, "replaced_by_larger", warm_up - 1, {"steps": str(len(held) - 1)}) if grows(held) else None


def grows(held: Int64s) -> bool:
    """Whether a line of bytes at step ends rises in each part of the time, without large falls."""
    limits = memory_facts().leaks
    growth, fall, intervals = int(held[-1] - held[0]), largest_fall(held), len(held) - 1
    if growth <= 0 or fall > limits.largest_fall_on_line * growth:
        return False
    if fall > limits.largest_fall * growth and (r_squared(held) or 0.0) < limits.least_r_squared:
        return False
    number = _HALVES if intervals < limits.likely_intervals else _THIRDS
    return all(held[part.stop] > held[part.start] for part in parts(intervals, number))


def _steady(course: Course, held: Int64s, warm_up: int) -> Finding:
    """The reason why nothing allocated while watched was kept."""
    if 0 < int(held[-1]) <= int(course.kept[:warm_up].sum()):
        return Finding(False, "warm_up")
    drops = int((np.diff(held) < 0).sum())
    if drops and int(held.max()) >= 2 * int(held.min()):
        return Finding(False, "sawtooth", values={"drops": str(drops)})
    return Finding(False, "replaced", values={"depth": str(course.depth)})
