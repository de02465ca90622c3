"""What of a gain is the recorder's own: a host that notes down each operator launches later than it does alone.

Recorded overheads have a cause of their own among those of idle time. This one is in the host's time itself: known
where the recorder has also timed steps without recording, else estimated where the device waited.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.foundation.idle import HOST, SYNC, RankIdle, idle_of
from stepscope.arrays import Int64s
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, FindingEvidence, GainMethod
from stepscope.diagnosis.gains.replayed import REPLAY, UNCERTAIN
from stepscope.diagnosis.losses import IDLE_REMOVED, severity_of
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.findings import finding_facts

#: Gains that count the host's time as it was recorded.
_AS_RECORDED: Final[tuple[GainMethod, ...]] = (IDLE_REMOVED, REPLAY, UNCERTAIN)


@dataclass(frozen=True)
class RecorderCost:
    """The part of a rank's waiting for its host that recording took, and what is left of that in a step; the step
    without recording, where it was timed.
    """

    share: float
    left_us: float
    unrecorded_us: float | None


def without_recorder(run: RunContext, findings: Iterable[Finding]) -> list[Finding]:
    """Findings about the host with what their removal gains when nothing is recorded."""
    timed = _recorded_ranks(run)
    cost_of: dict[int, RecorderCost] = {}
    told = []
    for finding in findings:
        ranks = [rank for rank in finding.ranks if rank in timed and rank in run.times]
        if not ranks or not _rests_on_host_time(finding):
            told.append(finding)
            continue
        for rank in ranks:
            if rank not in cost_of:
                cost_of[rank] = recorder_cost(run, run.times[rank], timed[rank])
        told.append(_without(finding, [cost_of[rank] for rank in ranks]))
    return told


def recorder_cost(run: RunContext, time: RankTime, unrecorded_us: float | None) -> RecorderCost:
    """Of the counted steps of a rank."""
    idle = idle_of(run.store, time.rank)
    gaps = np.flatnonzero(np.isin(idle.periods.step[idle.gaps.period], time.steps))
    waited_us = (idle.gaps.cause[gaps, HOST] + idle.gaps.cause[gaps, SYNC]) / 1000
    whole_us = float(waited_us.sum())

    def took(took_us: float) -> RecorderCost:
        share = took_us / whole_us if whole_us else 0.0
        return RecorderCost(share, (whole_us - took_us) / max(len(time.steps), 1), unrecorded_us)

    limits = finding_facts().recorder
    began = np.sort(idle.host.start[idle.host.of("operator", "runtime")])
    if unrecorded_us is None:
        events = _events_within(began, idle.gaps.start[gaps], idle.gaps.end[gaps])
        return took(float(np.minimum(events * limits.us_per_event, waited_us).sum()))
    counted = np.flatnonzero(np.isin(idle.periods.step, time.steps))
    periods = idle.periods
    events = _events_within(began, periods.start[counted], periods.end[counted])
    most_us = float(events.sum()) * limits.most_us_per_event
    longer_us = len(time.steps) * max(_usual_us(idle, counted) - max(unrecorded_us, time.computing_us), 0.0)
    return took(min(longer_us, most_us, whole_us))


def _events_within(began: Int64s, start: Int64s, end: Int64s) -> Int64s:
    return np.searchsorted(began, end) - np.searchsorted(began, start)


def _usual_us(idle: RankIdle, counted: Int64s) -> float:
    """The median step: what makes single steps long is not the recorder."""
    return float(np.median(idle.periods.end[counted] - idle.periods.start[counted])) / 1000


def _recorded_ranks(run: RunContext) -> dict[int, float | None]:
    """Ranks that a recorder of known cost has recorded, next to a device; their step without recording, if known."""
    columns = (pl.col("framework", "device_kind").cast(pl.String), pl.col("unrecorded_step_ns") / 1000)
    rows = run.store.scan("ranks").select("rank", *columns).collect()
    known = rows.filter((pl.col("framework") == finding_facts().recorder.framework) & (pl.col("device_kind") == "gpu"))
    return dict(known.select("rank", "unrecorded_step_ns").iter_rows())


def _rests_on_host_time(finding: Finding) -> bool:
    lengthened = f"{finding.kind}.{finding.cause}" in finding_facts().recorder.lengthens
    return lengthened and finding.gain_us is not None and finding.gain_method in _AS_RECORDED


def _without(finding: Finding, costs: list[RecorderCost]) -> Finding:
    """A finding whose gain leaves out the recorder's part: neither this nor the step would have it."""
    recorder = statistics.fmean(cost.share for cost in costs)
    if recorder < finding_facts().recorder.least_share_of_gain or finding.gain_us is None or not finding.gain_share:
        return finding
    period_us = finding.gain_us / finding.gain_share
    gain_us = min(finding.gain_us * (1 - recorder), statistics.fmean(cost.left_us for cost in costs))
    share = gain_us / (period_us - finding.gain_us * recorder)
    by_cost = finding.severity == severity_of(finding.gain_share, finding.confidence)
    return msgspec.structs.replace(
        finding,
        gain_us=round(gain_us, 6),
        gain_share=round(share, 6),
        severity=severity_of(share, finding.confidence) if by_cost else finding.severity,
        evidence=[*finding.evidence, *_evidence(recorder, [cost.unrecorded_us for cost in costs])],
    )


def _evidence(recorder: float, unrecorded_us: list[float | None]) -> list[FindingEvidence]:
    known = [each for each in unrecorded_us if each is not None]
    if len(known) < len(unrecorded_us):
        return [number("recorder_share", recorder, "share", link="timeline")]
    step = number("unrecorded_step", statistics.fmean(known), "us", link="steps")
    return [number("recorder_share_timed", recorder, "share", link="timeline"), step]
