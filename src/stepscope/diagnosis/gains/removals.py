"""Which changes of a replay mend a finding."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.replay.changes import Change, parse_change
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Finding, GainMethod
from stepscope.diagnosis.losses import IDLE_REMOVED
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.findings import finding_facts
from stepscope.facts.replay import replay_facts

#: An estimate that knows a limit which no replay can: how fast the rest of the input pipeline is.
NEXT_LIMIT: Final = "pipeline_next_limit"
#: What a rule says of a stage that has more to do. It is told as it is; a replay only says whether that is all.
STAGE_EVENED: Final = "stage_evened"
#: What rules say of kernels that could take less time, which is all gained only where the device sets the pace.
OF_KERNELS: Final[tuple[GainMethod, ...]] = (
    "half_precision",
    "kernels_removed",
    "fused",
    "reachable_rate",
    "usual_clock",
)
#: Where kernels go, their launches go with them, which the replay leaves to the host. With a device that is hardly ever
#: idle, it would take them for what sets the pace.
_WITH_LAUNCHES: Final[tuple[GainMethod, ...]] = ("kernels_removed", "fused")
#: Estimates of the time that the removed thing takes, which the replay knows better. Others mean something else.
_REPLACED: Final[tuple[GainMethod, ...]] = (IDLE_REMOVED, NEXT_LIMIT, "waiting_removed", "exposure_removed")


def removals_of(run: RunContext, findings: list[Finding], estimated: list[Finding]) -> dict[str, list[Change]]:
    """By finding the changes that mend it; ``estimated`` are the same findings as their rules gave them.

    None for a finding of which others explain a part: its gain is what they leave of it. None either for findings
    that the replay cannot tell apart, because the same change removes them.
    """
    whole = {finding.id: finding.gain_us for finding in estimated}
    removals = {
        finding.id: removed
        for finding in findings
        if finding.gain_us is not None
        and finding.gain_us == whole.get(finding.id)
        and (removed := _removal(run, finding))
    }
    return {id_: removed for id_, removed in removals.items() if list(removals.values()).count(removed) == 1}


def _removal(run: RunContext, finding: Finding) -> list[Change]:
    """The changes that mend a finding; none where no change is known that does."""
    if finding.gain_method in OF_KERNELS:
        return _faster_kernels(run, finding)
    if finding.gain_method == STAGE_EVENED and finding.accuses:
        left = 1 - (finding.gain_us or 0.0) / max(finding.evidence[0].value, 1.0)
        return [parse_change(f"stage:{finding.where.stage}*{max(left, 0.0):.6f}")]
    if finding.gain_method not in _REPLACED:
        return []
    if finding.cause == "not_captured":
        return _without_waiting(run, finding)
    templates = replay_facts().removed.get(finding.kind, {}).get(finding.cause or "", ())
    changes = []
    for template in templates:
        of_each = finding.ranks if "{rank}" in template else finding.ranks[:1]
        ranks = ",".join(map(str, finding.ranks))
        changes += [parse_change(template.format(rank=rank, ranks=ranks)) for rank in of_each]
    return changes


def _without_waiting(run: RunContext, finding: Finding) -> list[Change]:
    """What is left of calls if the rank that is not in the capture comes in time: their transfers."""
    left = {
        rank: 1 - run.recorded_waiting.get(rank, min((finding.gain_us or 0.0) / time.communicating_us, 1.0))
        for rank, time in run.times.items()
        if time.communicating_us
    }
    return [parse_change(f"communication@{rank}*{factor:.6f}") for rank, factor in left.items()]


def _faster_kernels(run: RunContext, finding: Finding) -> list[Change]:
    """Computing that takes so much less: where the host sets the pace, less than that is gained.

    A host beside a device that is hardly ever idle waits for it. Where no call was recorded in which it does so, the
    replay would take that for work of the host.
    """
    times = [run.times[rank] for rank in finding.ranks if rank in run.times and run.times[rank].computing_us]
    waits = any(run.entries("launches", "syncs", time.rank) for time in times)
    can_replay = _is_often_idle(times) or (waits and finding.gain_method not in _WITH_LAUNCHES)
    if not finding.accuses or not can_replay:
        return []
    left = {time.rank: max(1 - (finding.gain_us or 0.0) / time.computing_us, 0.0) for time in times}
    return [parse_change(f"rank:{rank}*{factor:.6f}") for rank, factor in left.items()]


def _is_often_idle(times: list[RankTime]) -> bool:
    idle = sum(time.share(time.idle_us) for time in times) / max(len(times), 1)
    return idle >= finding_facts().strength.clear_share
