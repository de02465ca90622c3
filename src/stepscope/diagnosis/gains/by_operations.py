"""Gains from recordings of whole operations (NDTimeline): a step of them is replayed with some as long as usual.

Such recordings hold no kernels and no launches, so the replay of slices finds nothing to change in them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.analysis.cluster.slowdown.of_operations import Chosen, replay_error_share, saved_share
from stepscope.analysis.cluster.slowdown.operation_replay import replay_of
from stepscope.analysis.cluster.slowdown.step_operations import StepOperations, step_operations
from stepscope.analysis.foundation.single_kernels import has_single_kernels
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Finding
from stepscope.facts.training_operations import training_operations_facts

OPERATION_REPLAY: Final = "operation_replay"


def shares_by_operations(run: RunContext, findings: list[Finding]) -> dict[str, float]:
    """By finding, the share of the step that is saved with operations of the slow ranks or the long stage as usual."""
    concerned = [one for one in findings if one.kind in ("slow_rank", "stage_imbalance") and one.accuses]
    recorded = step_operations(run.store) if concerned and not has_single_kernels(run.store) else None
    replay = None if recorded is None else replay_of(recorded)
    if recorded is None or replay is None:
        return {}
    if replay_error_share(recorded, replay) > training_operations_facts().slowdown.most_replay_error_share:
        return {}
    return {one.id: saved_share(replay, _operations_of(recorded, one)) for one in concerned}


def _operations_of(recorded: StepOperations, finding: Finding) -> Chosen:
    """Those of all ranks of a stage, or of slow ranks, whose line of an operation is their data-parallel coordinate."""
    if finding.kind == "stage_imbalance":
        return lambda operation: operation.stage == finding.where.stage
    places = recorded.ranks.filter(recorded.ranks["rank"].is_in(finding.ranks)).select("dp", "pp").rows()
    lines = np.arange(len(recorded.lines))[:, None]
    return lambda operation: np.isin(
        lines, [recorded.lines.index(line) for line, stage in places if stage == operation.stage]
    )
