"""For how much of its time a training process wanted a core of the processor while others had it."""

from __future__ import annotations

from stepscope.analysis.cpu import CpuRank
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.measures.rank_time import RankTime

#: Idle time in which the process waits for something else and wants no core.
_BLOCKED = ("data", "sync", "collective")


def without_core_share(run: RunContext, rank: int) -> float:
    """The share of its time in which a rank's host was ready to run and had no core.

    Processes on other cores take nothing from it: only where more threads want to run than there are cores.
    """
    return max((_without_core(machine) for machine in _contended(run, rank)), default=0.0)


def lost_to_others_us(run: RunContext, time: RankTime) -> float:
    """The same in a mean step without an accelerator, where what computes waits for cores just as well.

    Time in which the process waits for data or other ranks is not counted: they have findings of their own.
    """
    blocked = time.share(sum(time.idle_by_cause.get(cause, 0.0) for cause in _BLOCKED))
    shares = (_without_core(machine, blocked) for machine in _contended(run, time.rank))
    return time.period_us * max(shares, default=0.0)


def _contended(run: RunContext, rank: int) -> list[CpuRank]:
    machines: list[CpuRank] = run.entries("cpu", "ranks", rank)
    return [machine for machine in machines if machine.contended]


def _without_core(machine: CpuRank, blocked: float = 0.0) -> float:
    """What it did not get, but no more than its threads waited for a core: a process that sleeps wants nothing.

    Where the system does not count that, cores are taken to be shared out evenly: for each moment that a thread runs,
    it waits one for each other in line.
    """
    if machine.process_cores is None or machine.crowded_share is None:
        return 0.0
    got = min(machine.process_cores, 1.0)
    wanted = machine.crowded_share * max(1 - got - blocked, 0.0)
    if machine.waiting_mean is not None:
        return min(wanted, machine.waiting_mean)
    if machine.runnable_mean is None or not machine.cores:
        return wanted
    return min(wanted, got * max(machine.runnable_mean / machine.cores - 1, 0.0))
