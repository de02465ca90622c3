"""``memory_pressure``: an allocation failed."""

from __future__ import annotations

from stepscope.analysis.memory.structures import Memory, OutOfMemory
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence import number
from stepscope.diagnosis.finding import Bilingual, Finding, FindingEvidence, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule
from stepscope.diagnosis.words import byte_size


def judge(run: RunContext) -> list[Finding]:
    """One finding per device that ran out of memory, with the reason of its first failure."""
    memory: Memory | None = run.answer("memory")
    first: dict[tuple[int, str], OutOfMemory] = {}
    for failure in memory.out_of_memory if memory is not None else []:
        first.setdefault((failure.rank, failure.device), failure)
    return findings_of(run, "memory_pressure", map(_loss, first.values()), Next(("memory", "leaks"), "memory"))


def _loss(failure: OutOfMemory) -> Loss:
    return Loss(
        rank=failure.rank,
        cause="out_of_memory",
        title="finding_title.out_of_memory",
        advice="finding_advice.out_of_memory",
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
    """What was asked for, and what was there."""
    known = {
        "oom_requested": failure.requested_bytes,
        "oom_pool_free": failure.pool_free_bytes,
        "oom_device_free": failure.device_free_bytes,
        "oom_largest_free": failure.largest_free_bytes,
    }
    return [number(name, size, "bytes", link="memory") for name, size in known.items() if size is not None]


RULE = Rule(kinds=("memory_pressure",), needs=("memory",), judge=judge)
