"""The page's table of evidence: each of its numbers is one of the findings', and is made of a field that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepscope.questions.fields import fields
from stepscope.questions.registry import QUESTIONS
from stepscope.texts import catalogue

_TABLE = Path(__file__).parents[1] / "web/src/findings/evidenceFields.ts"
_ENTRY = re.compile(r"^  (\w+): '([\w-]+)\.([\w.]+)',$", re.MULTILINE)


def test_a_number_of_the_evidence_is_explained_by_a_field_of_an_answer() -> None:
    if not _TABLE.is_file():
        pytest.skip("the page's sources are not here")
    source = _TABLE.read_text("utf-8")
    entries = _ENTRY.findall(source)
    assert len(entries) == source.count(": '")  # nothing was overlooked
    metrics = catalogue()["finding_metric"]
    assert [metric for metric, _, _ in entries if metric not in metrics] == []
    known = {question: set(fields(QUESTIONS.named(question))) for _, question, _ in entries}
    assert [(question, field) for _, question, field in entries if field not in known[question]] == []
