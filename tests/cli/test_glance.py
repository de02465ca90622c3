"""``stepscope PATH`` alone, and words that are neither a command nor a path."""

from __future__ import annotations

import json

from support.commands import Command
from support.recordings import DATA

_LOADER = DATA / "loader_every_fourth.json.gz"


def test_a_path_alone_gives_the_verdict_and_where_to_look_next(stepscope: Command) -> None:
    outcome = stepscope(_LOADER)
    assert outcome.code == 0
    first, *_, view = outcome.out.splitlines()
    assert first == stepscope("diagnose", _LOADER).out.splitlines()[0]
    assert view.endswith(f"stepscope view {_LOADER}")
    assert f"stepscope diagnose {_LOADER}" in outcome.out


def test_as_json_it_is_the_document_of_diagnose(stepscope: Command) -> None:
    assert json.loads(stepscope(_LOADER, "--json").out) == json.loads(stepscope("diagnose", _LOADER, "--json").out)


def test_a_mistyped_command_names_the_nearest(stepscope: Command) -> None:
    outcome = stepscope("summry", _LOADER)
    assert outcome.code == 2
    assert "summary" in outcome.err


def test_a_path_that_is_not_there_is_said_to_be_missing(stepscope: Command) -> None:
    outcome = stepscope("traces/none.json")
    assert outcome.code == 3
    assert "traces/none.json" in outcome.err
