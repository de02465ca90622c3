"""``memory_fragmentation``: an allocation failed although enough was free, because it was free in pieces."""

from __future__ import annotations

from stepscope.analysis.memory.out_of_memory import FRAGMENTATION
from stepscope.analysis.memory.structures import Memory, OutOfMemory
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule
from stepscope.texts.numbers import byte_size


def judge(run: RunContext) -> list[Finding]:
    """One finding per device whose memory was in pieces when a request failed."""
    memory: Memory | None = run.answer("memory")
    first: dict[tuple[int, str], OutOfMemory] = {}
    for failure in memory.out_of_memory if memory is not None else []:
        if failure.cause == FRAGMENTATION:
            first.setdefault((failure.rank, failure.device), failure)
    return findings_of(run, "memory_fragmentation", map(_loss, first.values()), Next(("memory",), "memory"))


def _loss(failure: OutOfMemory) -> Loss:
    known = {"oom_requested": failure.requested_bytes, "oom_pool_free": failure.pool_free_bytes}
    return Loss(
        rank=failure.rank,
        cause="free_in_pieces",
        title="finding_title.memory_fragmentation",
        advice="finding_advice.memory_fragmentation",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        where=Where(device=failure.device),
        words={"free": byte_size(failure.pool_free_bytes), "requested": byte_size(failure.requested_bytes)},
        confidence="confirmed",
        severity="critical",
        evidence=[number(name, size, "bytes", link="memory") for name, size in known.items() if size is not None],
        proof=[Proof(rank=failure.rank, page="memory", start_ns=failure.time_ns, end_ns=failure.time_ns)],
    )


RULE = Rule(kinds=("memory_fragmentation",), needs=("memory",), judge=judge)
