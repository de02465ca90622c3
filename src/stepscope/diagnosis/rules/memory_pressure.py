"""``memory_pressure``: an allocation failed, or hardly any memory is left at the peak."""

from __future__ import annotations

from stepscope.analysis.memory.out_of_memory import FRAGMENTATION, OTHERS
from stepscope.analysis.memory.structures import Memory, OutOfMemory, Peak
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Bilingual, Finding, FindingEvidence, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import byte_size, percent


def judge(run: RunContext) -> list[Finding]:
    """One finding per device that ran out of memory, with the reason of its first failure, or that nearly did.

    Memory that was free in pieces is a kind of its own.
    """
    memory: Memory | None = run.answer("memory")
    first: dict[tuple[int, str], OutOfMemory] = {}
    for failure in memory.out_of_memory if memory is not None else []:
        first.setdefault((failure.rank, failure.device), failure)
    losses = [_failed(failure) for failure in first.values() if failure.cause != FRAGMENTATION]
    peaks = memory.peaks if memory is not None else []
    losses += [_nearly_full(peak) for peak in peaks if (peak.rank, peak.device) not in first and _is_nearly_full(peak)]
    return findings_of(run, "memory_pressure", losses, Next(("memory", "leaks"), "memory"))


def _is_nearly_full(peak: Peak) -> bool:
    """By what tensors hold: a pool that keeps all memory for itself harms nobody."""
    least = finding_facts().memory_pressure.least_share_of_capacity
    return bool(peak.capacity_bytes) and peak.peak_bytes >= least * (peak.capacity_bytes or 0)


def _nearly_full(peak: Peak) -> Loss:
    share = peak.peak_bytes / (peak.capacity_bytes or 1)
    return Loss(
        rank=peak.rank,
        cause="nearly_full",
        title="finding_title.memory_nearly_full",
        advice="finding_advice.out_of_memory",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        where=Where(device=peak.device),
        words={"used": percent(share), "capacity": byte_size(peak.capacity_bytes)},
        # It did not fail, and may be intended.
        severity="info",
        evidence=[number("peak_memory", peak.peak_bytes, "bytes", peak.capacity_bytes, "memory")],
        steps=[] if peak.peak_step is None else [peak.peak_step],
        proof=[Proof(rank=peak.rank, page="memory", start_ns=peak.peak_ns, end_ns=peak.peak_ns)],
    )


def _failed(failure: OutOfMemory) -> Loss:
    return Loss(
        rank=failure.rank,
        cause="out_of_memory",
        title="finding_title.out_of_memory",
        advice="finding_advice.memory_of_others" if failure.cause == OTHERS else "finding_advice.out_of_memory",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        where=Where(device=failure.device),
        words={"why": why(failure)},
        confidence="confirmed",
        severity="critical",
        evidence=sizes(failure),
        steps=[] if failure.step is None else [failure.step],
        proof=[Proof(rank=failure.rank, page="memory", start_ns=failure.time_ns, end_ns=failure.time_ns)],
    )


def why(failure: OutOfMemory) -> Bilingual:
    """What `memory` says about a failure, as a part of a sentence."""
    told = Bilingual.of(
        f"memory_cause.{failure.cause}",
        requested=byte_size(failure.requested_bytes),
        free=byte_size(failure.pool_free_bytes),
        device_free=byte_size(failure.device_free_bytes),
        others=byte_size(failure.others_bytes),
    )
    return Bilingual(told.en.rstrip("."), told.zh.rstrip("。"))


def sizes(failure: OutOfMemory) -> list[FindingEvidence]:
    """The sizes of what was requested and of what was free."""
    known = {
        "oom_requested": failure.requested_bytes,
        "oom_pool_free": failure.pool_free_bytes,
        "oom_device_free": failure.device_free_bytes,
        "oom_largest_free": failure.largest_free_bytes,
    }
    return [number(name, size, "bytes", link="memory") for name, size in known.items() if size is not None]


RULE = Rule(kinds=("memory_pressure",), needs=("memory",), judge=judge)
