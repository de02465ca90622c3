"""``data_starved`` and ``sync_stall`` by copies: the device does nothing but move data from or to the host.

Copies to the device bring the step its data: waiting for them is ``data_starved`` with cause ``transfer``. Copies to
the host are asked for by a host that wants to know a result: ``sync_stall`` with cause ``copy``. What goes to the host
and comes back was put there for want of memory: ``data_starved`` with cause ``offload``. Copies within a device are
work like any other and accuse nobody.
"""

from __future__ import annotations

from typing import Final

from stepscope.analysis.exposed_copies import ExposedCopies, exposed_copies
from stepscope.analysis.flops.peaks import peaks_of
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Confidence, Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, severity_of, worth_telling
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts

#: By direction: kind and cause of the finding.
_ACCUSED: Final = {"host_to_device": ("data_starved", "transfer"), "device_to_host": ("sync_stall", "copy")}
_OFFLOAD: Final = "offload"

#: By cause, and by whether most of it is from or to pageable memory.
_TITLES: Final = {
    ("transfer", True): "finding_title.copies_transfer_pageable",
    ("transfer", False): "finding_title.copies_transfer_alone",
    ("copy", True): "finding_title.copies_copy_pageable",
    ("copy", False): "finding_title.copies_copy_alone",
}
_ADVICE: Final = {
    ("transfer", True): "finding_advice.copies_transfer_pageable",
    ("transfer", False): "finding_advice.copies_transfer_alone",
    ("copy", True): "finding_advice.copies_copy_pageable",
    ("copy", False): "finding_advice.copies_copy_alone",
}


def judge(run: RunContext) -> list[Finding]:
    """Ranks whose device moves data while it could compute, by direction."""
    losses: dict[str, list[Loss]] = {kind: [] for kind, _ in _ACCUSED.values()}
    for rank, time in run.times.items():
        if not worth_telling(time.share(time.exposed_copy_us)):
            continue
        told = [
            copies
            for copies in exposed_copies(run.store, rank, time.steps, finding_facts().lists.most_proofs)
            if copies.kind in _ACCUSED and worth_telling(time.share(_exposed_us(copies, time)))
        ]
        if _come_back(told):
            losses["data_starved"].append(_offloaded(time, told))
            continue
        for copies in told:
            kind, cause = _ACCUSED[copies.kind]
            losses[kind].append(_loss(run, rank, time, copies, cause))
    then = {
        "data_starved": Next(("copies", "pipeline"), "copies"),
        "sync_stall": Next(("copies", "launches"), "copies"),
    }
    return [finding for kind, own in losses.items() for finding in findings_of(run, kind, own, then[kind])]


def _exposed_us(copies: ExposedCopies, time: RankTime) -> float:
    return copies.exposed_ns / 1000 / max(len(time.steps), 1)


def _come_back(told: list[ExposedCopies]) -> bool:
    """Whether as many bytes go to the host as come from there."""
    if {copies.kind for copies in told} != set(_ACCUSED):
        return False
    least, most = sorted(copies.bytes for copies in told)
    return least >= (1 - finding_facts().exposed_copies.most_difference) * most > 0


def _offloaded(time: RankTime, told: list[ExposedCopies]) -> Loss:
    """Both directions as one: left on the device, nothing of it would be copied."""
    exposed_us = sum(_exposed_us(copies, time) for copies in told)
    return Loss(
        rank=time.rank,
        cause=_OFFLOAD,
        title="finding_title.copies_offload",
        advice="finding_advice.copies_offload",
        gain_us=exposed_us,
        gain_share=time.share(exposed_us),
        gain_method="copies_removed",
        where=Where(operator=told[0].name),
        evidence=[
            number("exposed_copy_share", time.share(exposed_us), "share", link="timeline"),
            number("offloaded_bytes", told[0].bytes / max(len(time.steps), 1), "bytes"),
        ],
        proof=[
            Proof(rank=time.rank, page="timeline", slices=[slice_], start_ns=start, end_ns=end)
            for copies in told
            for slice_, start, end in copies.longest[:1]
        ],
    )


def _loss(run: RunContext, rank: int, time: RankTime, copies: ExposedCopies, cause: str) -> Loss:
    exposed_us = _exposed_us(copies, time)
    pageable = copies.pageable_ns / copies.exposed_ns
    mostly_pageable = pageable >= finding_facts().exposed_copies.mostly_share
    confidence: Confidence = "likely" if len(time.steps) >= finding_facts().strength.least_steps else "suspect"
    # Side by side with everything else that the device does, the copies cost only what they take longer than that.
    # With next to nothing to run beside, only fewer bytes help, and nobody knows how many fewer it could be.
    shorter_us = _from_pinned_memory_us(run, rank, copies) / max(len(time.steps), 1) if mostly_pageable else 0.0
    beside = min(exposed_us - shorter_us, time.computing_us + time.exposed_communication_us)
    gain = shorter_us + beside if worth_telling(time.share(shorter_us + beside)) else None
    return Loss(
        rank=rank,
        cause=cause,
        title=_TITLES[cause, mostly_pageable],
        advice=_ADVICE[cause, mostly_pageable],
        gain_us=gain,
        gain_share=None if gain is None else time.share(gain),
        gain_method=None if gain is None else "copies_overlapped",
        where=Where(operator=copies.name),
        words={"copy": copies.name},
        confidence=confidence,
        severity=severity_of(time.share(exposed_us), confidence),
        evidence=[
            number("exposed_copy_share", time.share(exposed_us), "share", link="timeline"),
            number("pageable_copy_share", pageable, "share", link="timeline"),
        ],
        proof=[
            Proof(rank=rank, page="timeline", slices=[number_of_slice], start_ns=start, end_ns=end)
            for number_of_slice, start, end in copies.longest
        ],
    )


def _from_pinned_memory_us(run: RunContext, rank: int, copies: ExposedCopies) -> float:
    """How much shorter copies would be from pinned memory: those from other memory wait for the host to copy first."""
    link = peaks_of(run.store, rank).host
    if link is None or not copies.pageable_bytes:
        return 0.0
    needed_us = copies.pageable_bytes / (link * finding_facts().reachable.share_of_bandwidth) * 1e6
    return max(copies.pageable_ns / 1000 - needed_us, 0.0)


RULE = Rule(kinds=("data_starved", "sync_stall"), needs=("copies",), judge=judge)
