"""A command that was called wrongly says what is wrong and what to do, in the language of the call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.commands import Command
from support.traces import document, training_steps, write

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
#: What was typed, and what the answer has to name.
_WRONG = {
    "a mistyped option": (("steps", ".", "--rnk", "0"), ("--rnk", "--rank", "stepscope steps --help")),
    "an unknown option": (("doctor", "--zzz"), ("--zzz", "stepscope doctor --help")),
    "no path": (("steps",), ("PATH", "stepscope steps --help")),
    "a choice that there is not": (("operators", ".", "--by", "color"), ("--by", "kernel, type, operator")),
    "a source that there is not": (("steps", ".", "--source", "xml"), ("--source", "text, db")),
    "a number that is too small": (("operators", ".", "--limit", "0"), ("--limit", "≥ 1")),
    "a word for a number": (("steps", ".", "--step", "last"), ("--step",)),
    "a number outside of its bounds": (("view", ".", "--port", "99999"), ("--port", "≥ 0", "≤ 65535")),
    "an option without its value": (("steps", "--rank"), ("--rank", "--help")),
    "a value that is not taken": (("doctor", "--json=yes"), ("--json",)),
    "a word too many": (("doctor", "twice"), ("twice", "stepscope doctor --help")),
    "a mistyped command": (("diagnos", "."), ("diagnos", "diagnose", "stepscope --help")),
    "two forms of output": (("steps", ".", "--json", "--csv", "out"), ("--json", "--csv")),
    "two forms of a comparison": (("compare", ".", ".", "--json", "--markdown"), ("--json", "--markdown")),
    "a query that was forgotten": (("sql", "."), ("SELECT",)),
    "no command": ((), ("COMMAND", "stepscope --help")),
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("case", _WRONG)
def test_what_is_wrong_and_what_to_do(stepscope: Command, case: str, language: str) -> None:
    words, named = _WRONG[case]
    outcome = stepscope("--lang", language, *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert all(each in outcome.err for each in named), outcome.err
    assert bool(_CHINESE.search(outcome.err)) == (language == "zh")


def test_the_language_may_stand_before_or_behind_the_command(stepscope: Command) -> None:
    (before, behind, joined) = (
        stepscope("--lang", "zh", "doctor", "--zzz"),
        stepscope("doctor", "--zzz", "--lang", "zh"),
        stepscope("doctor", "--lang=zh", "--zzz"),
    )
    assert before == behind == joined
    assert stepscope("--lang", "zh", "steps", "--help").out.startswith("用法：")


def test_a_language_that_there_is_not(stepscope: Command) -> None:
    outcome = stepscope("doctor", "--lang", "fr")
    assert (outcome.code, outcome.err) == (2, "stepscope: --lang takes one of: en, zh.\n")


def test_what_stands_behind_two_dashes_is_of_another_command(stepscope: Command, tmp_path: Path) -> None:
    outcome = stepscope("profile", "--", str(tmp_path / "no such program"), "--lang", "zh")
    assert outcome.code == 2
    assert not _CHINESE.search(outcome.err)


def test_nothing_at_all_shows_the_help(stepscope: Command) -> None:
    outcome = stepscope()
    assert outcome.code == 2
    assert "Start here:" in outcome.err
    assert stepscope("--help").out == outcome.err


def test_usage_lines_are_written_as_everywhere(stepscope: Command) -> None:
    shown = {name: stepscope(name, "--help").out.splitlines()[0] for name in ("steps", "whatif", "sql", "trigger")}
    assert shown == {
        "steps": "Usage: stepscope steps [OPTIONS] PATH...",
        "whatif": "Usage: stepscope whatif [OPTIONS] PATH [CHANGES]...",
        "sql": "Usage: stepscope sql [OPTIONS] PATH... QUERY",
        "trigger": "Usage: stepscope trigger [OPTIONS] CFG_PATH",
    }


def test_who_asks_for_more_rows_than_a_table_can_have_gets_all(stepscope: Command, tmp_path: Path) -> None:
    trace = write(tmp_path / "trace.json", document(training_steps()))
    everything = stepscope("operators", trace, "--limit", str(1 << 70), "--json")
    assert (everything.code, everything.out) == (0, stepscope("operators", trace, "--limit", "1000", "--json").out)
