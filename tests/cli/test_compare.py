"""``stepscope compare`` at a terminal, as JSON and Markdown, with gates and baselines."""

from __future__ import annotations

import json
import re

from support.commands import Command
from support.recordings import DATA

_SLOW, _AGAIN, _FAST = (DATA / f"pair_{name}.json.gz" for name in ("fp32", "fp32_again", "bf16"))


def test_the_first_line_is_the_verdict(stepscope: Command) -> None:
    outcome = stepscope("compare", _SLOW, _FAST)
    assert outcome.code == 0
    assert re.match(r"B is faster: a step takes 13\.\d+ ms instead of 22\.\d+ ms", outcome.out)
    assert "appeared: The device of rank 0 waits for the host" in outcome.out


def test_a_gate_that_is_not_held_gives_4(stepscope: Command) -> None:
    outcome = stepscope("compare", _FAST, _SLOW, "--fail-if", "slower:5%")
    assert outcome.code == 4
    assert "FAILED slower:5%" in outcome.out
    assert stepscope("compare", _SLOW, _FAST, "--fail-if", "slower:5%").code == 0
    assert stepscope("compare", _SLOW, _FAST, "--fail-if", "new-finding").code == 4


def test_a_gate_fails_when_the_runs_cannot_be_compared(stepscope: Command) -> None:
    outcome = stepscope("compare", _SLOW, _FAST, "--step", "9", "--fail-if", "slower:5%")
    assert outcome.code == 4
    assert "not comparable" in outcome.out


def test_an_unknown_gate_is_a_wrong_usage(stepscope: Command) -> None:
    outcome = stepscope("compare", _SLOW, _FAST, "--fail-if", "faster:5%")
    assert outcome.code == 2
    assert "slower:5%" in outcome.err


def test_one_run_alone_cannot_be_compared(stepscope: Command) -> None:
    outcome = stepscope("compare", _SLOW)
    assert outcome.code == 2
    assert "--baseline" in outcome.err


def test_a_baseline_is_saved_and_compared_with(stepscope: Command) -> None:
    assert stepscope("compare", _SLOW, "--save-baseline", "main").code == 0
    document = json.loads(stepscope("compare", "--baseline", "main", _AGAIN, "--json").out)
    assert document["schema"] == "stepscope.compare/1"
    assert document["data"]["a"]["name"] == _SLOW.name
    assert document["data"]["verdict"]["word"] == "same"
    outcome = stepscope("compare", "--baseline", "other", _AGAIN)
    assert outcome.code == 2
    assert "main" in outcome.err


def test_markdown_is_short_and_has_tables(stepscope: Command) -> None:
    text = stepscope("compare", _SLOW, _FAST, "--markdown").out
    assert text.startswith("**B is faster")
    assert "| step | 22.262 | 13.488 | -8.775 |" in text
    assert len(text.splitlines()) <= 60
