"""The path through the decision trees of the tuning guides: what was asked, what was seen, where that led.

Which questions there are is a table of facts (``facts/decision_trees.toml``). Rules judge on their own; the path shows
in which order a person would have come to what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.decision_path.shares import Measured, measured
from stepscope.diagnosis.finding import Bilingual, Finding, PathStep
from stepscope.facts.decision_trees import TreeQuestion, decision_trees_facts
from stepscope.facts.thresholds import in_use

_DELIMITATION: Final = "delimitation"
_BESIDE: Final = "beside"
_OTHER_RULES: Final = "other_rules"


def path_of(run: RunContext, findings: Sequence[Finding]) -> list[PathStep]:
    """All questions that were asked of a run; the last one names what no tree leads to."""
    if not run.times:
        return _beside(findings)
    trees = decision_trees_facts().trees
    asked: list[PathStep] = []
    for name in (tree_of(run), _DELIMITATION):
        asked += _walked(run, name, trees[name], findings)
    reached = {finding for step in asked for finding in step.findings}
    return [*asked, *_beside([each for each in findings if each.id not in reached])]


def tree_of(run: RunContext) -> str:
    """Which tree suits a job: by its pipeline if it has one, by any other split of the model, else by its data."""
    if len(run.times) < 2:
        return "single_card"
    if run.plan.size("pp") > 1:
        return "pipeline_parallel"
    return "model_parallel" if any(run.plan.size(each) > 1 for each in ("tp", "cp", "ep")) else "data_parallel"


def _walked(
    run: RunContext, tree: str, questions: dict[str, TreeQuestion], findings: Sequence[Finding]
) -> list[PathStep]:
    limits = in_use()
    depths: dict[str, int] = {}  # of questions that were answered with yes
    steps: list[PathStep] = []
    for name, question in questions.items():
        if question.under is not None and question.under not in depths:
            continue
        depth = 0 if question.under is None else depths[question.under] + 1
        for number in measured(run, question.measure, question.of):
            step = _step(tree, name, number, limits[question.limit], depth)
            if step.answer == "yes":
                depths.setdefault(name, depth)
                step = msgspec.structs.replace(step, findings=_led_to(question, number, findings))
            steps.append(step)
    return _deepest_only(steps, questions)


def _step(tree: str, name: str, number: Measured, limit: float, depth: int) -> PathStep:
    return PathStep(
        tree=tree,
        question=name,
        text=Bilingual.of(f"decision_question.{name}"),
        depth=depth,
        group=number.group,
        ranks=number.ranks,
        value=number.value,
        threshold=limit,
        unit="share",
        answer="unknown" if number.value is None else "yes" if number.value > limit else "no",
        findings=[],
    )


def _led_to(question: TreeQuestion, number: Measured, findings: Sequence[Finding]) -> list[str]:
    """Of a group only what concerns ranks that stand out in it."""
    ranks = set(number.ranks) if number.group is not None else None
    return [each.id for each in findings if each.kind in question.kinds and (ranks is None or ranks & set(each.ranks))]


def _deepest_only(steps: list[PathStep], questions: dict[str, TreeQuestion]) -> list[PathStep]:
    """A question leaves a finding to those under it that lead there, too."""
    below: dict[str, set[str]] = {}
    for step in steps:
        above = questions[step.question].under
        if above is not None:
            below.setdefault(above, set()).update(step.findings)
    return [
        msgspec.structs.replace(
            step, findings=[id_ for id_ in step.findings if id_ not in below.get(step.question, ())]
        )
        for step in steps
    ]


def _beside(findings: Sequence[Finding]) -> list[PathStep]:
    """What rules found that look at something else than the parts of a step: memory, files, clocks, single steps."""
    if not findings:
        return []
    return [
        PathStep(
            tree=_BESIDE,
            question=_OTHER_RULES,
            text=Bilingual.of(f"decision_question.{_OTHER_RULES}"),
            depth=0,
            group=None,
            ranks=[],
            value=None,
            threshold=None,
            unit=None,
            answer="yes",
            findings=[each.id for each in findings],
        )
    ]
