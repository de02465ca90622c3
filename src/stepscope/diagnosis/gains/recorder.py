"""What of a gain is the recorder's own: a host that notes down each operator launches later than it does alone.

Recorded overheads have a cause of their own among those of idle time. This one is in the host's time itself, and can
only be estimated. It is taken where the device waited: what it cost elsewhere, the device did not wait for.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.foundation.idle import HOST, SYNC, idle_of
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, GainMethod
from stepscope.diagnosis.gains.replayed import REPLAY, UNCERTAIN
from stepscope.diagnosis.losses import IDLE_REMOVED, severity_of
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.findings import finding_facts

#: Gains that count the host's time as it was recorded.
_AS_RECORDED: tuple[GainMethod, ...] = (IDLE_REMOVED, REPLAY, UNCERTAIN)


def without_recorder(run: RunContext, findings: Iterable[Finding]) -> list[Finding]:
    """Findings about the host with what their removal gains when nothing is recorded."""
    recorded = _recorded_ranks(run)
    share_of: dict[int, float] = {}
    told = []
    for finding in findings:
        ranks = [rank for rank in finding.ranks if rank in recorded and rank in run.times]
        if ranks and _rests_on_host_time(finding):
            for rank in ranks:
                if rank not in share_of:
                    share_of[rank] = recorder_share(run, run.times[rank])
            told.append(_without(finding, statistics.fmean(share_of[rank] for rank in ranks)))
        else:
            told.append(finding)
    return told


def recorder_share(run: RunContext, time: RankTime) -> float:
    """The part of a rank's waiting for its host that recording the host took, at most all of it."""
    idle = idle_of(run.store, time.rank)
    gaps = np.flatnonzero(np.isin(idle.periods.step[idle.gaps.period], time.steps))
    waited_us = (idle.gaps.cause[gaps, HOST] + idle.gaps.cause[gaps, SYNC]) / 1000
    if not waited_us.sum():
        return 0.0
    began = np.sort(idle.host.start[idle.host.of("operator", "runtime")])
    events = np.searchsorted(began, idle.gaps.end[gaps]) - np.searchsorted(began, idle.gaps.start[gaps])
    took_us = np.minimum(events * finding_facts().recorder.us_per_event, waited_us)
    return float(took_us.sum() / waited_us.sum())


def _recorded_ranks(run: RunContext) -> set[int]:
    """Ranks that a recorder of known cost has recorded, next to a device."""
    rows = run.store.scan("ranks").select("rank", pl.col("framework", "device_kind").cast(pl.String)).collect()
    known = rows.filter((pl.col("framework") == finding_facts().recorder.framework) & (pl.col("device_kind") == "gpu"))
    return set(known["rank"].to_list())


def _rests_on_host_time(finding: Finding) -> bool:
    lengthened = f"{finding.kind}.{finding.cause}" in finding_facts().recorder.lengthens
    return lengthened and finding.gain_us is not None and finding.gain_method in _AS_RECORDED


def _without(finding: Finding, recorder: float) -> Finding:
    """A finding whose gain leaves out the recorder's part: neither this nor the step would have it."""
    if recorder < finding_facts().recorder.least_share_of_gain or finding.gain_us is None or not finding.gain_share:
        return finding
    period_us = finding.gain_us / finding.gain_share
    gain_us = finding.gain_us * (1 - recorder)
    share = gain_us / (period_us - finding.gain_us * recorder)
    by_cost = finding.severity == severity_of(finding.gain_share, finding.confidence)
    return msgspec.structs.replace(
        finding,
        gain_us=round(gain_us, 6),
        gain_share=round(share, 6),
        severity=severity_of(share, finding.confidence) if by_cost else finding.severity,
        evidence=[*finding.evidence, number("recorder_share", recorder, "share", link="timeline")],
    )
