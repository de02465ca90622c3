"""What to fix first: the question ``diagnose``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.question import question
from stepscope.diagnosis.finding import Diagnosis, Finding
from stepscope.diagnosis.kept import kept
from stepscope.diagnosis.verdict import verdict_on
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore

if TYPE_CHECKING:
    from stepscope.analysis.summary import Summary
    from stepscope.diagnosis.context import RunContext

#: Data that all rules between ranks need (``needed_data.py``).
OTHER_RANKS: Final = "other_ranks"
STEP_TIMES: Final = "step_times"


@question()
def diagnose(store: RunStore, *, ranks: Sequence[int] | None = None) -> Answer[Diagnosis]:
    """All findings, or those that concern some ranks."""
    whole = kept(store, work_out)
    if not ranks:
        return Answer(whole)
    from stepscope.analysis.foundation.work import ranks_of  # reading what was kept needs no arrays

    chosen = set(ranks_of(store, ranks))
    findings = [finding for finding in whole.findings if _concerns(finding, chosen)]
    told = {finding.id for finding in findings}
    path = [
        msgspec.structs.replace(step, findings=[id_ for id_ in step.findings if id_ in told]) for step in whole.path
    ]
    verdict = verdict_on(findings, whole.verdict.checked)
    return Answer(Diagnosis(verdict, findings, whole.not_checked, whole.period_us, path))


def _concerns(finding: Finding, ranks: set[int]) -> bool:
    """Whether a finding concerns some ranks: a slow rank also concerns those that wait for it."""
    return finding_facts().kinds[finding.kind].scope == "cluster" or bool(ranks & set(finding.ranks))


def work_out(store: RunStore) -> Diagnosis:
    """Apply every rule to the run."""
    from stepscope.diagnosis.context import RunContext
    from stepscope.diagnosis.decision_path.walk import path_of
    from stepscope.diagnosis.gains.recorder import without_recorder
    from stepscope.diagnosis.gains.replayed import with_replayed_gains
    from stepscope.diagnosis.needed_data import is_there, not_checked
    from stepscope.diagnosis.ranking import gains_something, in_order, ranked
    from stepscope.diagnosis.rule import all_rules

    run = RunContext(store)
    findings: list[Finding] = []
    checked: dict[str, None] = {}
    lacking: dict[str, str] = {}
    for rule in all_rules():
        needed = next((name for name in rule.needs if not is_there(name, run)), None)
        if needed is None:
            findings += rule.judge(run)
            checked.update(dict.fromkeys(rule.kinds))
            continue
        for kind in rule.kinds:
            # The needs of a rule with a single kind are the most specific.
            if kind not in lacking or len(rule.kinds) == 1:
                lacking[kind] = _first_of_all(kind, needed, run)
    unseen = [not_checked(kind, name, run) for kind, name in lacking.items() if kind not in checked]
    findings = without_recorder(run, with_replayed_gains(run, ranked(findings, run.times), findings))
    findings = in_order(finding for finding in findings if gains_something(finding))
    period_us = _mean_period(run.answer("summary"))
    return Diagnosis(verdict_on(findings, list(checked)), findings, unseen, period_us, path_of(run, findings))


def _first_of_all(kind: str, needed: str, run: RunContext) -> str:
    """Of one rank alone nothing between ranks can be told: before anything else, that needs the others."""
    from stepscope.diagnosis.needed_data import is_there

    between_ranks = finding_facts().kinds[kind].scope == "cluster"
    if needed != OTHER_RANKS and (not between_ranks or is_there(OTHER_RANKS, run)):
        return needed
    return STEP_TIMES if len(run.ranks) > 1 else OTHER_RANKS  # ranks of which steps are not known cannot be compared


def _mean_period(summary: Summary | None) -> float | None:
    """The mean step over all ranks, which gains are relative to."""
    periods = [] if summary is None else [rank.period_us for rank in summary.ranks if rank.period_us is not None]
    return sum(periods) / len(periods) if periods else None
