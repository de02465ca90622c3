"""What findings would gain, from a replay of the steps without what is wrong (docs/metrics/replay.md).

Rules estimate what they find by simpler means. The replay takes their place where it gives the recorded steps.
"""

from __future__ import annotations

from typing import Final

import msgspec
import polars as pl

from stepscope.analysis.replay.changes import Change, parse_change
from stepscope.analysis.replay.estimate import Estimate, counted_rows, estimate_of
from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.losses import IDLE_REMOVED, severity_of
from stepscope.errors import StepscopeError
from stepscope.facts.findings import finding_facts
from stepscope.facts.replay import replay_facts
from stepscope.store.run_store import RunStore

#: Methods of gains. With much time in the steps that nothing explains, nobody knows what it does after a change.
REPLAY: Final = "replay"
UNCERTAIN: Final = "replay_uncertain"
#: An estimate that knows a limit which no replay can: how fast the rest of the input pipeline is.
_LIMITED: Final = "pipeline_next_limit"


#: Estimates of the time that the removed thing takes, which the replay knows better. Others mean something else.
_REPLACED: Final = (IDLE_REMOVED, _LIMITED, "waiting_removed", "exposure_removed")


def with_replayed_gains(store: RunStore, findings: list[Finding], estimated: list[Finding]) -> list[Finding]:
    """Findings with gains from the replay; ``estimated`` are the same as their rules gave them.

    A finding of which others explain a part keeps its estimate, which is what they leave of it.
    """
    whole = {finding.id: finding.gain_us for finding in estimated}
    changes = {
        finding.id: _removal(finding)
        for finding in findings
        if finding.gain_us is not None and finding.gain_us == whole.get(finding.id)
    }
    if not any(changes.values()):
        return findings
    replayed = {id_: number for number, id_ in enumerate(id_ for id_, removed in changes.items() if removed)}
    estimate = estimate_of(store, store.ranks, [changes[id_] for id_ in replayed], concerned_only=True)
    if estimate is None or estimate.error_share > replay_facts().errors.most_share:
        return findings
    return [_replayed(estimate, finding, replayed.get(finding.id)) for finding in findings]


def _removal(finding: Finding) -> list[Change]:
    """The changes that mend a finding; none where no change is known that does."""
    if finding.gain_method not in _REPLACED:
        return []
    templates = replay_facts().removed.get(finding.kind, {}).get(finding.cause or "", ())
    changes = []
    for template in templates:
        of_each = finding.ranks if "{rank}" in template else finding.ranks[:1]
        ranks = ",".join(map(str, finding.ranks))
        changes += [parse_change(template.format(rank=rank, ranks=ranks)) for rank in of_each]
    return changes


def _replayed(estimate: Estimate, finding: Finding, number: int | None) -> Finding:
    """A finding with the gain of the set of changes with that number."""
    if number is None:
        return finding
    try:
        steps, _ = estimate.changed(number)
    except StepscopeError:  # the replay has nothing of it: what the rule saw lies outside of it
        return finding
    if not estimate.joined:  # others do not wait for these ranks
        steps = steps.filter(pl.col("rank").is_in(finding.ranks))
    if steps.is_empty():
        return finding
    counted = steps.filter(pl.Series(counted_rows(steps)))
    replayed, changed = (int(counted[name].to_numpy().sum()) for name in ("replayed_ns", "changed_ns"))
    gain_us, share = max(replayed - changed, 0) / len(counted) / 1000, max(replayed - changed, 0) / max(replayed, 1)
    if finding.gain_method == _LIMITED and gain_us >= (finding.gain_us or 0.0):
        return finding
    idle = finding.gain_method == IDLE_REMOVED and not estimate.joined
    if idle and gain_us > (finding.gain_us or 0.0) * replay_facts().errors.most_times_idle:
        return finding
    if finding.accuses and share < finding_facts().strength.mild_share:  # two ways to look at it disagree
        return finding
    by_cost = finding.severity == severity_of(finding.gain_share, finding.confidence)
    certain = estimate.unexplained_share <= replay_facts().errors.most_share
    return msgspec.structs.replace(
        finding,
        gain_us=round(gain_us, 6),
        gain_share=round(share, 6),
        gain_method=REPLAY if certain else UNCERTAIN,
        severity=severity_of(share, finding.confidence) if by_cost else finding.severity,
    )
