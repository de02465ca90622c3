"""Which hosts and ranks are slow, judged once for all rules: among ranks that should be alike, hosts before ranks."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.diagnosis.measures.dispatching import launches_like_others
from stepscope.diagnosis.measures.outstanding import KnownSpread, by_accident, standing_out, step_noise
from stepscope.diagnosis.measures.own_time import CAUSES, OwnTime, beyond_usual, mean_over, without_experts
from stepscope.facts.findings import finding_facts

if TYPE_CHECKING:
    from stepscope.diagnosis.context import RunContext

#: Usually next to nothing, so that they show also where computing times differ widely.
_QUIET_CAUSES: Final = ("data", "host")


@dataclass(frozen=True)
class SlowMember:
    """A slow rank, or all ranks of a slow host that are peers of each other; times per mean step, in microseconds.

    ``needs`` is the time for its cause, ``usual`` that of its peers. ``gain_us`` is what they would save.
    """

    ranks: list[int]
    host: str | None
    cause: str
    needs_us: float
    usual_us: float
    late_us: float
    gain_us: float
    others: list[int]
    slow_steps: list[int]
    steps: list[int]


def slow_members(run: RunContext) -> list[SlowMember]:
    """All of them, of all stages."""
    members: list[SlowMember] = []
    in_some_steps = _slow_in_some_steps(run)
    for peers in peers_of(run):
        own = {rank: _own_time(run, rank) for rank in peers if rank in run.own_times}
        hosts = {
            host: ranks
            for host, ranks in _slow_hosts(run, own).items()
            if not all(_late_by_chance(run, rank, own, ranks) for rank in ranks)
        }
        taken = {rank for ranks in hosts.values() for rank in ranks}
        whole = statistics.fmean(run.times[rank].period_us for rank in peers)
        least = finding_facts().slow_rank.least_excess_share
        rest = {rank: each for rank, each in own.items() if rank not in taken}
        longer = _out_of_chance({rank: each.whole for rank, each in rest.items()}, whole, least)
        slow = set(longer)
        by_cause = {  # on a busy machine what one cause changes from step to step hides another
            cause: _out_of_chance({rank: each.by_cause[cause] for rank, each in rest.items()}, whole, least)
            for cause in CAUSES
        }
        slow |= set().union(*by_cause.values())
        slow |= in_some_steps & set(rest)
        slow |= _behind_communication(run, rest, whole)
        if slow == set(rest):  # each for a cause of its own: nobody is left who is as usual
            slow = longer
        slow -= {rank for rank in slow if _late_by_chance(run, rank, rest, slow)}
        culprits = [*hosts.items(), *((None, [rank]) for rank in sorted(slow))]
        every = taken | slow
        usual = {rank: each for rank, each in own.items() if rank not in every}
        if not usual:
            continue
        for host, ranks in culprits:
            known = [cause for cause in CAUSES if by_cause[cause] & set(ranks)]
            member = _member(run, host, {rank: own[rank] for rank in ranks}, usual, sorted(slow), known)
            members += [member] if member is not None else []
    return members


def _out_of_chance(values: Mapping[int, Sequence[float]], whole: float, least: float) -> set[int]:
    """Ranks that stand out, without those that did so by accident: the machine was busy with something else."""
    slow = standing_out(values, whole, least)
    usual = [steps for rank, steps in values.items() if rank not in slow]
    return {rank for rank in slow if len(values[rank]) < 2 or not by_accident(values[rank], usual)}


def _slow_in_some_steps(run: RunContext) -> set[int]:
    """Ranks that take longer than usual in some steps: against their own other ones, whatever ranks differ by.

    So all stages are compared at once, which tells more than the few ranks of one.
    """
    beyond = {rank: beyond_usual(_own_time(run, rank).whole) for rank in run.own_times}
    return _out_of_chance(beyond, run.mean_period_us, finding_facts().slow_rank.least_excess_share)


def _behind_communication(run: RunContext, own: Mapping[int, OwnTime], whole: float) -> set[int]:
    """Ranks that are idle for themselves for a part only of the time by which they hold up others.

    For the rest of it a call is under way that gathers what the step begins with: the device counts as communicating.
    """
    limits = finding_facts().slow_rank
    waiting = [
        rank
        for cause in _QUIET_CAUSES
        for rank in _out_of_chance(
            {rank: each.by_cause[cause] for rank, each in own.items()}, whole, limits.least_excess_behind_calls_share
        )
    ]
    least = limits.least_excess_share * whole
    return {rank for rank in waiting if _later_than(run, [rank], [other for other in own if other != rank]) >= least}


def _later_than(run: RunContext, ranks: Sequence[int], others: Sequence[int]) -> float:
    """Microseconds per step by which ranks hold up others more than these do; 0 where no calls can be compared."""
    if not all(rank in run.delays for rank in (*ranks, *others)):
        return 0.0
    usual = statistics.median(statistics.fmean(run.delays[other]) for other in others) if others else 0.0
    return statistics.fmean(statistics.fmean(run.delays[rank]) for rank in ranks) - usual


def peers_of(run: RunContext) -> list[list[int]]:
    """Ranks that should be alike: those of one pipeline stage, where stages are known."""
    groups: dict[int | None, list[int]] = {}
    for rank in run.times:
        groups.setdefault(run.plan.stage_of(rank), []).append(rank)
    return [group for group in groups.values() if len(group) > 1]


def _own_time(run: RunContext, rank: int) -> OwnTime:
    """Without experts: that they have more to do than others is a finding of its own."""
    experts = run.expert_times.get(rank)
    return run.own_times[rank] if experts is None else without_experts(run.own_times[rank], experts)


def _slow_hosts(run: RunContext, own: Mapping[int, OwnTime]) -> dict[str, list[int]]:
    """Hosts all of whose ranks are slower than those of other hosts."""
    by_host: dict[str, list[int]] = {}
    for rank in own:
        if (host := run.host_of.get(rank)) is not None:
            by_host.setdefault(host, []).append(rank)
    if len(by_host) < 2 or any(len(ranks) < 2 for ranks in by_host.values()):
        return {}
    series = {host: mean_over([own[rank].whole for rank in ranks]) for host, ranks in by_host.items()}
    whole = statistics.fmean(run.times[rank].period_us for rank in own)
    means = ([statistics.fmean(own[rank].whole) for rank in ranks] for ranks in by_host.values())
    spread = KnownSpread.of_groups(means, min(map(len, by_host.values())))
    slow = standing_out(series, whole, finding_facts().slow_rank.least_excess_share, spread)
    # Where ranks change much from step to step, their mean may be off by more than hosts seem to change.
    usual = [own[rank].whole for host, ranks in by_host.items() if host not in slow for rank in ranks]
    slow = {host: excess for host, excess in slow.items() if excess >= step_noise(usual, len(by_host[host]))}
    level = max((statistics.fmean(series[host]) for host in by_host if host not in slow), default=0.0)
    share = finding_facts().slow_host.least_share_of_excess
    return {
        host: by_host[host]
        for host, excess in slow.items()
        if all(statistics.fmean(own[rank].whole) >= level + share * excess for rank in by_host[host])
    }


def _late_by_chance(run: RunContext, rank: int, own: Mapping[int, OwnTime], slow: Collection[int]) -> bool:
    """Whether a rank is late because all hosts launch slowly, and its own came to be the latest of them."""
    others = [other for other in own if other not in slow]
    if not others:
        return False
    excess = {
        cause: _mean_of([own[rank]], cause) - _mean_of([own[other] for other in others], cause) for cause in CAUSES
    }
    by_host = max(CAUSES, key=lambda cause: excess[cause]) == "host"
    return by_host and launches_like_others(run, rank, others, excess["host"])


def _member(
    run: RunContext,
    host: str | None,
    culprits: Mapping[int, OwnTime],
    usual: Mapping[int, OwnTime],
    slow: Sequence[int],
    known: Sequence[str],
) -> SlowMember | None:
    """A culprit against its peers; None where nobody waits for it. ``known`` are causes by which it stands out."""
    needs = {cause: _mean_of(culprits.values(), cause) for cause in CAUSES}
    others = {cause: _mean_of(usual.values(), cause) for cause in CAUSES}
    cause = max(known or CAUSES, key=lambda name: needs[name] - others[name])
    late = statistics.fmean(run.lateness(rank, [*usual]) for rank in culprits)
    # Without it, the slowest of the others is what all wait for. Ranks that are slow alike are told together.
    together = culprits if host is not None else {rank: _own_time(run, rank) for rank in {*slow, *culprits}}
    slowest = [max(values) for values in zip(*(each.whole for each in together.values()), strict=True)]
    next_slowest = [max(values) for values in zip(*(each.whole for each in usual.values()), strict=True)]
    above = [one - other for one, other in zip(slowest, next_slowest, strict=True)]
    excess = needs[cause] - others[cause]
    gain = min(excess, late, max(statistics.fmean(above), 0.0))
    first = next(iter(culprits.values()))
    whole, least = statistics.fmean(run.times[rank].period_us for rank in culprits), finding_facts().strength.mild_share
    if gain < least * whole and cause in _QUIET_CAUSES and host is None:
        gain = _later_than(run, list(culprits), list(usual))
    if gain < least * whole:
        return None
    own = mean_over([each.by_cause[cause] for each in culprits.values()])
    return SlowMember(
        ranks=sorted(culprits),
        host=host,
        cause=cause,
        needs_us=needs[cause],
        usual_us=others[cause],
        late_us=late,
        gain_us=gain,
        others=sorted(usual),
        slow_steps=slow_steps(first.steps, own, [each.by_cause[cause] for each in usual.values()], least * whole),
        steps=first.steps,
    )


def slow_steps(
    steps: Sequence[int], own: Sequence[float], others: Sequence[Sequence[float]], least: float
) -> list[int]:
    """The steps in which a member was slow, of its own time and that of its peers by step.

    Those that it made ``least`` longer than the slowest of its peers, and those of the size of its worst: a third of
    it, because one step that is twice as slow as the others does not make these usual.

    >>> slow_steps([1, 2, 3, 4], [15, 14, 98, 15], [[10, 9, 11, 10], [9, 10, 10, 10]], 4)
    [1, 2, 3, 4]
    >>> slow_steps([1, 2, 3, 4], [10, 9, 98, 11], [[10, 9, 11, 10], [9, 10, 10, 10]], 4)
    [3]
    """
    above = [one - level for one, level in zip(own, mean_over(others), strict=True)]
    longer = [one - max(peers) for one, peers in zip(own, zip(*others, strict=True), strict=True)]
    return [
        step
        for step, over, by in zip(steps, above, longer, strict=True)
        if 3 * over >= max(above) or by >= max(least, 1)
    ]


def _mean_of(times: Iterable[OwnTime], cause: str) -> float:
    return statistics.fmean(statistics.fmean(each.by_cause[cause]) for each in times)
