"""The catalogue: each sentence in both languages, with the values that the code gives it, and none too many."""

from __future__ import annotations

import ast
import re
import string
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import stepscope
from stepscope.store.schema import TABLES
from stepscope.texts import LANGUAGES, catalogue, preferred_language, text

_SOURCE = Path(stepscope.__file__).parent
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_ERRORS = {"StepscopeError", "NoAnswerError", "UsageError", "UnreadableInputError"}
# Fields of answers carry more than sentences; tests/analysis/test_catalogue.py looks after them.
# Questions, commands and options are named by the functions they belong to (tests/cli/test_help.py).
# Those of decision trees by a table of facts, limits of values by their types.
_DERIVED = {
    "question",
    "option",
    "command",
    "command_option",
    "help_word",
    "decision_question",
    "decision_answer",
    "column_name",
    "scenario_limits",
}
# What is counted from 1 on; other numbers of such things, as limits and all steps of a run, are never 1.
_COUNTED = re.compile(
    r"\{(count|shown|rows|sites|files|runs)\} (?:[a-z-]+ )?(ranks|steps|events|rows|calls|tasks|cells|blocks|slices"
    r"|lines|kernels|samples|operators|allocations|links|frees|entries|files|records|segments|pauses|kinds|elements|windows|copies)\b"
)
# Sections that go to the page as a whole.
_SENT_WHOLE = {"glossary", "glossary_term", "table"}
_ENTRIES = [(section, name) for section, entries in catalogue().items() if section != "field" for name in entries]


class Use(NamedTuple):
    """A place in the code that names a sentence, with the values it gives; None if it hands on a dictionary."""

    section: str
    name: str
    values: set[str] | None
    where: str


@cache
def _modules() -> dict[str, ast.Module]:
    files = sorted(_SOURCE.rglob("*.py"))
    return {str(file.relative_to(_SOURCE)): ast.parse(file.read_text("utf-8")) for file in files}


def _uses() -> Iterator[Use]:
    """All of ``notes.add("name", …)``, ``Note("name", …)`` and ``…Error("name", …)``."""
    for file, module in _modules().items():
        for node in ast.walk(module):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            section = _section(node.func)
            first = node.args[0]
            choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            names = [choice.value for choice in choices if isinstance(choice, ast.Constant)]
            given = {keyword.arg for keyword in node.keywords}
            handed_on = isinstance(node.func, ast.Name) and node.func.id == "Note"
            values = None if None in given or handed_on else {word for word in given if word is not None}
            if section is not None:
                for name in names:
                    yield Use(section, str(name), values, f"{file}:{node.lineno}")


def _section(function: ast.expr) -> str | None:
    if isinstance(function, ast.Name) and function.id in _ERRORS:
        return "error"
    if isinstance(function, ast.Name) and function.id == "Note":
        return "note"
    if isinstance(function, ast.Attribute) and function.attr == "add":
        owner = function.value
        name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        return "note" if name.endswith("notes") else None
    return None


def _placeholders(sentence: str) -> set[str]:
    """Values of a sentence, those that only decide between two words included."""
    fields = [field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None]
    return {field.partition("|")[0] for field in fields}


@pytest.mark.parametrize(("section", "name"), _ENTRIES)
def test_a_sentence_is_there_in_both_languages_with_the_same_values(section: str, name: str) -> None:
    entry = catalogue()[section][name]
    assert set(entry) == set(LANGUAGES)
    assert _placeholders(entry["en"]) == _placeholders(entry["zh"])
    assert _CHINESE.search(entry["zh"]), "the Chinese sentence is not Chinese"
    assert not _CHINESE.search(entry["en"])
    assert all(sentence.strip() == sentence and sentence for sentence in entry.values())
    assert all(re.fullmatch(r"\w+", field) for field in _placeholders(entry["en"]))
    assert not _COUNTED.search(entry["en"]), "one thing would be called many"


def test_a_key_stands_in_one_file_only() -> None:
    keys = Counter(
        (section, name)
        for file in (_SOURCE / "texts").glob("*.toml")
        for section, entries in tomllib.loads(file.read_text("utf-8")).items()
        for name in entries
    )
    assert [key for key, count in keys.items() if count > 1] == []


def test_what_the_code_says_has_a_sentence() -> None:
    missing = [use for use in _uses() if use.name not in catalogue()[use.section]]
    assert missing == []
    assert {use.section for use in _uses()} == {"note", "error"}


def test_a_sentence_gets_the_values_it_shows() -> None:
    # A note always has a count; its file and its place are empty unless given.
    wrong = []
    for use in _uses():
        if use.values is not None and use.name in catalogue()[use.section]:
            given = use.values | ({"count"} if use.section == "note" else set())
            lacking = _placeholders(catalogue()[use.section][use.name]["en"]) - given
            if lacking:
                wrong.append((use.where, use.name, sorted(lacking)))
    assert wrong == []


def test_no_sentence_is_left_over() -> None:
    words = {
        node.value
        for module in _modules().values()
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    said = {name for word in words for name in (word, word.partition(".")[2])}
    assert [
        f"{section}.{name}" for section, name in _ENTRIES if name not in said and section not in _DERIVED | _SENT_WHOLE
    ] == []


def test_tables_of_a_run_are_described_as_in_the_schema() -> None:
    assert {name: entry["en"] for name, entry in catalogue()["table"].items()} == {
        name: table.meaning for name, table in TABLES.items()
    }


def test_values_are_put_into_a_sentence() -> None:
    assert text("error.no_such_path", path="a.json") == "There is no file or directory a.json. Check the path."


@pytest.mark.parametrize("one", [1, "1"])
def test_one_thing_is_not_called_many(one: object) -> None:
    words: dict[str, Any] = {"offset_us": 3, "calls": 9, "error_us": 1}
    assert text("note.clocks_aligned", count=one, **words).startswith("The clock of 1 rank was corrected")
    assert text("note.clocks_aligned", count=2, **words).startswith("The clocks of 2 ranks were corrected")
    assert text("error.no_such_path", "zh", path="a.json") == "文件或目录 a.json 不存在，请检查路径。"


def test_braces_in_a_value_do_no_harm() -> None:
    assert text("error.no_such_path", path="{0} {x}") == "There is no file or directory {0} {x}. Check the path."


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ZH"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ({"LC_ALL": "zh_CN.UTF-8", "STEPSCOPE_LANG": "en"}, "en"),
        ({"LC_ALL": "", "LANG": "zh_CN.UTF-8"}, "zh"),
    ],
)
def test_the_environment_chooses_the_language(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], language: str
) -> None:
    for name in ("STEPSCOPE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert preferred_language() == language
