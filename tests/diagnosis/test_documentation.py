"""A kind without documentation, texts or facts fails here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from stepscope.diagnosis.finding import GainMethod
from stepscope.diagnosis.rule import all_rules
from stepscope.facts.findings import finding_facts
from stepscope.questions import QUESTIONS
from stepscope.texts import catalogue

_PAGE = (Path(__file__).resolve().parents[2] / "docs" / "findings.md").read_text("utf-8")
_KINDS = sorted({kind for rule in all_rules() for kind in rule.kinds})


@pytest.mark.parametrize("kind", _KINDS)
def test_a_kind_that_is_looked_for_is_documented_and_has_a_name(kind: str) -> None:
    (row,) = re.findall(rf"^\| `{kind}` \|.*$", _PAGE, re.MULTILINE)
    assert len(row.strip("| ").split(" | ")) == 4
    assert kind in catalogue()["finding_kind"]
    assert kind in finding_facts().kinds


def test_no_kind_is_documented_that_nobody_looks_for() -> None:
    _, table = _PAGE.split("\n## Kinds\n")
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == _KINDS


def test_facts_name_kinds_and_questions_that_exist() -> None:
    kinds = finding_facts().kinds
    assert {name for kind in kinds.values() for name in kind.explains} <= set(kinds)
    assert {name for kind in kinds.values() for name in kind.questions} <= set(QUESTIONS)


def test_what_a_rule_needs_has_words() -> None:
    needed = {name for rule in all_rules() for name in rule.needs}
    assert needed <= set(catalogue()["finding_needs"]) & set(catalogue()["finding_collect"])


def test_ways_to_estimate_a_gain_are_explained() -> None:
    assert not [name for name in get_args(GainMethod) if f"\n| `{name}` | " not in _PAGE]
