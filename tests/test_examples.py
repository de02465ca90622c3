"""The notebook of ``examples``: its cells run, and it holds what they show."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

_EXAMPLES = Path(__file__).parents[1] / "examples"


def _cells() -> list[dict[str, Any]]:
    notebook = json.loads((_EXAMPLES / "first_look.ipynb").read_text("utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(source: str, names: dict[str, Any]) -> Any:
    """The value of a cell's last line, as a notebook takes it."""
    body = ast.parse(source).body
    last = body[-1]
    if not isinstance(last, ast.Expr):
        exec(source, names)
        return None
    exec(compile(ast.Module(body[:-1], []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_cells_of_the_notebook_run_and_show_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_EXAMPLES)
    names: dict[str, Any] = {}
    values = [_run("".join(cell["source"]), names) for cell in _cells()]
    assert names["run"].diagnose().verdict.sentence.en in values[0]._repr_html_()
    assert names["first"].ranks == [2]  # the one that was made slow


def test_the_notebook_was_executed_and_names_no_place_of_its_author() -> None:
    text = (_EXAMPLES / "first_look.ipynb").read_text("utf-8")
    outputs = [output for cell in _cells() for output in cell["outputs"]]
    assert any("text/html" in output.get("data", {}) for output in outputs)
    assert all(cell["execution_count"] for cell in _cells())
    assert not [place for place in ("/home/", "/root/", "/tmp/") if place in text]
