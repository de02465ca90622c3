"""What findings would gain, from a replay of the steps without what is wrong (docs/metrics/replay.md).

Rules estimate what they find by simpler means. The replay takes their place where it gives the recorded steps.
"""

from __future__ import annotations

from typing import Final

import msgspec
import polars as pl

from stepscope.analysis.cluster.job import replay_of_calls
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.estimate import Estimate, counted_rows, estimate_from
from stepscope.analysis.replay.replay import joined_replay
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Finding, GainMethod
from stepscope.diagnosis.gains.by_operations import OPERATION_REPLAY, shares_by_operations
from stepscope.diagnosis.gains.hidden_faults import Alone, with_hidden_faults
from stepscope.diagnosis.gains.removals import NEXT_LIMIT, OF_KERNELS, STAGE_EVENED, removals_of
from stepscope.diagnosis.losses import IDLE_REMOVED, severity_of
from stepscope.errors import StepscopeError
from stepscope.facts.findings import finding_facts
from stepscope.facts.replay import replay_facts
from stepscope.facts.training_operations import training_operations_facts

#: Methods of gains. With much time in the steps that nothing explains, nobody knows what it does after a change.
REPLAY: Final = "replay"
UNCERTAIN: Final = "replay_uncertain"
#: Of jobs too large to be replayed kernel by kernel: their calls, and the time of each rank between them.
CALL_REPLAY: Final = "call_replay"
_SLOW_MEMBERS: Final = ("slow_rank", "slow_host")


def with_replayed_gains(run: RunContext, findings: list[Finding], estimated: list[Finding]) -> list[Finding]:
    """Findings with gains from the replay; ``estimated`` are the same as their rules gave them.

    Findings that no change mends keep the estimate of their rule.
    """
    store = run.store
    removals = removals_of(run, findings, estimated)
    by_operations = shares_by_operations(run, findings)
    if by_operations:
        return [_by_operations(run, finding, by_operations.get(finding.id, 0.0)) for finding in findings]
    if not removals:
        return findings
    calls = run.job_calls.times if len(store.ranks) > 1 else None
    replay = joined_replay(store, store.ranks, calls.rows) if calls is not None else None
    if replay is None:
        findings = _replayed_by_calls(run, findings, removals)
        known = {finding.id for finding in findings if finding.gain_method in (CALL_REPLAY, STAGE_EVENED)}
        removals = {id_: removed for id_, removed in removals.items() if id_ not in known}
    estimate = estimate_from(store, store.ranks, replay, list(removals.values()), concerned_only=True)
    if estimate is None or estimate.error_share > replay_facts().errors.most_share:
        return findings
    number_of = {id_: number for number, id_ in enumerate(removals)}
    told = [_replayed(estimate, finding, number_of.get(finding.id)) for finding in findings]
    if replay is None:
        return told
    alone = {
        finding.id: Alone(removals[finding.id], *saved)
        for finding in findings
        if finding.id in number_of and (saved := _saved(estimate, finding, number_of[finding.id])) is not None
    }
    shares = {finding.id: finding.gain_share for finding in findings}
    return with_hidden_faults(run, replay, told, shares, alone)


def _by_operations(run: RunContext, finding: Finding, share: float) -> Finding:
    if share < finding_facts().strength.mild_share:  # two ways to look at it disagree
        return finding
    return _with_gain(finding, share * run.mean_period_us, share, OPERATION_REPLAY)


def _replayed_by_calls(run: RunContext, findings: list[Finding], removals: dict[str, list[Change]]) -> list[Finding]:
    """Slow ranks and hosts of a large job: all of its calls, with these ranks as fast as their peers."""
    slow = [finding for finding in findings if finding.kind in _SLOW_MEMBERS and finding.id in removals]
    replay = replay_of_calls(run.store, run.job_calls.times) if slow else None
    if replay is None:
        return findings
    gains = replay.gains([finding.ranks for finding in slow])
    if gains.error_share > training_operations_facts().slowdown.most_replay_error_share:
        return findings
    mild, saved = finding_facts().strength.mild_share, dict(zip([one.id for one in slow], gains.saved_ns, strict=True))
    return [
        _with_gain(finding, gain_ns / 1000, gain_ns / gains.replayed_ns, CALL_REPLAY)
        if (gain_ns := saved.get(finding.id, 0.0)) >= mild * gains.replayed_ns
        else finding
        for finding in findings
    ]


def _saved(estimate: Estimate, finding: Finding, number: int) -> tuple[float, float] | None:
    """Microseconds of a step that a set of changes saves, and the share; None where there is nothing to change."""
    try:
        steps, _ = estimate.changed(number)
    except StepscopeError:  # the replay has nothing of it: what the rule saw lies outside of it
        return None
    there = set(finding.ranks) & set(estimate.ranks)
    if there and not estimate.joined:  # others do not wait for these ranks
        steps = steps.filter(pl.col("rank").is_in(there))
    if steps.is_empty():
        return None
    counted = steps.filter(pl.Series(counted_rows(steps)))
    replayed, changed = (int(counted[name].to_numpy().sum()) for name in ("replayed_ns", "changed_ns"))
    return max(replayed - changed, 0) / len(counted) / 1000, max(replayed - changed, 0) / max(replayed, 1)


def _replayed(estimate: Estimate, finding: Finding, number: int | None) -> Finding:
    """A finding with the gain of the set of changes with that number."""
    saved = None if number is None or finding.gain_method == STAGE_EVENED else _saved(estimate, finding, number)
    if saved is None:
        return finding
    gain_us, share = saved
    certain = estimate.unexplained_share <= replay_facts().errors.most_share
    if finding.gain_method in OF_KERNELS:
        less = gain_us < (1 - replay_facts().errors.most_kernel_error) * (finding.gain_us or 0.0)
        return _with_gain(finding, gain_us, share, REPLAY) if certain and less else finding
    if finding.gain_method == NEXT_LIMIT and gain_us >= (finding.gain_us or 0.0):
        return finding
    idle = finding.gain_method == IDLE_REMOVED and not estimate.joined
    if idle and gain_us > (finding.gain_us or 0.0) * replay_facts().errors.most_times_idle:
        return finding
    if finding.accuses and share < finding_facts().strength.mild_share:  # two ways to look at it disagree
        return finding
    return _with_gain(finding, gain_us, share, REPLAY if certain else UNCERTAIN)


def _with_gain(finding: Finding, gain_us: float, share: float, method: GainMethod) -> Finding:
    by_cost = finding.severity == severity_of(finding.gain_share, finding.confidence)
    return msgspec.structs.replace(
        finding,
        gain_us=round(gain_us, 6),
        gain_share=round(share, 6),
        gain_method=method,
        severity=severity_of(share, finding.confidence) if by_cost else finding.severity,
    )
