"""Sentences of the profiler: each in both languages, with the values that the code gives it, and none too many."""

from __future__ import annotations

import ast
import json
import re
import string
from pathlib import Path

import pytest

from stepscope import profiler
from stepscope.profiler.foundation.amounts import duration, size
from stepscope.profiler.foundation.messages import sentence

_PROFILER = Path(profiler.__file__).parent
_MESSAGES: dict[str, dict[str, str]] = json.loads((_PROFILER / "foundation" / "messages.json").read_text("utf-8"))
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_SAYING = {"warn", "tell", "sentence"}


def _fields(text: str) -> set[str]:
    return {field.partition("|")[0] for _, field, _, _ in string.Formatter().parse(text) if field is not None}


def _calls() -> list[tuple[str, set[str], str]]:
    """Key, given values and place of every sentence that is said by its name."""
    found = []
    for path in sorted(_PROFILER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _SAYING:
                given = {keyword.arg or "**" for keyword in node.keywords}
                found.append((str(node.args[0].value), given, f"{path.name}:{node.lineno}"))
    return found


@pytest.mark.parametrize("key", _MESSAGES)
def test_a_sentence_is_there_in_both_languages_with_the_same_values(key: str) -> None:
    texts = _MESSAGES[key]
    assert set(texts) == {"en", "zh"}
    assert _fields(texts["en"]) == _fields(texts["zh"])
    assert _CHINESE.search(texts["zh"])
    assert not _CHINESE.search(texts["en"])


def test_what_is_noted_has_a_sentence_and_gives_its_values() -> None:
    calls = _calls()
    assert len(calls) > 30
    wrong = [
        (key, place)
        for key, given, place in calls
        if key not in _MESSAGES or ("**" not in given and _fields(_MESSAGES[key]["en"]) - given)
    ]
    assert wrong == []


def test_no_sentence_is_left_over() -> None:
    source = "\n".join(path.read_text("utf-8") for path in sorted(_PROFILER.rglob("*.py")))
    words = set(re.findall(r"[\"']([a-z0-9_]+)[\"']", source))
    families = ("switch_", "ended_by_")  # said by the name of the switch, or of the reason
    named = {key for key in _MESSAGES if key in words or any(key.removeprefix(one) in words for one in families)}
    assert set(_MESSAGES) - named == set()


@pytest.mark.parametrize(("steps", "said"), [(1, "1 step recorded in 33 ms, 42 kB"), (2, "2 steps recorded in 33 ms")])
def test_the_last_line_counts_one_step_and_several(steps: int, said: str) -> None:
    values = {"took": duration(0.0331), "size": size(41_900), "after": "1 ms", "directory": "d", "command": "c"}
    assert sentence("recorded_steps", lang="en", steps=steps, **values).startswith(said)
