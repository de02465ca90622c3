"""Reports show what answers hold: they take types from the analyses, never functions, and sum nothing up."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import stepscope
from stepscope.questions import QUESTIONS

_REPORTS = Path(stepscope.__file__).parent / "report"
_OF_QUESTIONS = sorted(
    {f"{name.replace('-', '_')}.py" for name in QUESTIONS} & {path.name for path in _REPORTS.iterdir()}
)
_WORKS_OUT = {"sum", "mean", "median", "quantile", "std", "var", "group_by", "agg", "cum_sum", "mode"}


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(path.name for path in _REPORTS.glob("*.py")))
def test_only_types_come_from_the_rooms_that_answer(name: str) -> None:
    imported = [
        (node.module, alias.name)
        for node in ast.walk(_tree(_REPORTS / name))
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(("stepscope.analysis", "stepscope.diagnosis"))
        for alias in node.names
    ]
    functions = [
        f"{module}.{what}"
        for module, what in imported
        if not isinstance(getattr(importlib.import_module(str(module)), what), type)
    ]
    assert functions == []


@pytest.mark.parametrize("name", _OF_QUESTIONS)
def test_nothing_is_worked_out(name: str) -> None:
    called = [node.func for node in ast.walk(_tree(_REPORTS / name)) if isinstance(node, ast.Call)]
    names = {each.id if isinstance(each, ast.Name) else getattr(each, "attr", "") for each in called}
    assert names & _WORKS_OUT == set()
    modules = {
        alias.name for node in ast.walk(_tree(_REPORTS / name)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert modules & {"numpy", "statistics", "math"} == set()
