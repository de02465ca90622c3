"""The skill keeps its promises: what it names exists, and its commands give the fields it tells of."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from stepscope.assistants.skill_files import install, main_page
from stepscope.errors import UsageError
from support.commands import Command, command_names
from support.recordings import DATA

_LOADER, _SLOW, _FAST = (
    DATA / name for name in ("loader_every_fourth.json.gz", "pair_fp32.json.gz", "pair_bf16.json.gz")
)
_FOUR_RANKS = DATA / "four_ranks_cuda_slow_compute.tar.xz"
_FILES = sorted((Path(__file__).parents[2] / "src" / "stepscope" / "assistants" / "skill").rglob("*.md"))
_COMMANDS = sorted(
    {line for file in _FILES for line in re.findall(r"stepscope [a-z-]+ [^`\n|]*--json", file.read_text("utf-8"))}
)


def test_the_head_follows_the_convention_of_skills() -> None:
    head = main_page().split("---")[1]
    assert re.search(r"^name: stepscope$", head, re.MULTILINE)
    assert re.search(r"^description: .{50,1000}$", head, re.MULTILINE)
    assert len(main_page().splitlines()) < 150


def test_every_command_that_it_names_exists() -> None:
    named = {word for file in _FILES for word in re.findall(r"stepscope ([a-z][a-z-]+)", file.read_text("utf-8"))}
    assert named - set(command_names()) - {"command"} == set()


@pytest.mark.parametrize("line", _COMMANDS)
def test_every_command_line_gives_a_document_or_a_reason(line: str, stepscope: Command, capsys: Any) -> None:
    words = shlex.split(line)[1:]
    captures = {"PATH": _FOUR_RANKS if "--rank-a" in words else _LOADER, "BEFORE": _SLOW, "AFTER": _FAST}
    outcome = stepscope(*(captures.get(word, word) for word in words))
    assert outcome.code in (0, 1), outcome.err
    if outcome.code == 0:
        asked = "explain" if "--explain" in words else words[0]
        assert json.loads(outcome.out)["schema"] == f"stepscope.{asked}/1"
    else:
        assert outcome.err


def test_the_fields_that_it_promises_are_there(stepscope: Command) -> None:
    data = json.loads(stepscope("diagnose", _LOADER, "--json").out)["data"]
    assert data["verdict"]["sentence"]["en"]
    promised = "kind severity confidence ranks evidence gain_us gain_method advice proof validate_with next_commands"
    assert set(promised.split()) <= set(data["findings"][0])
    assert {"kind", "needs", "collect_with"} <= set(data["not_checked"][0])
    data = json.loads(stepscope("compare", _SLOW, _FAST, "--json").out)["data"]
    assert {"word", "sentence", "delta_share", "noise_us", "reasons"} <= set(data["verdict"])
    assert {"count_effect_us", "duration_effect_us", "status"} <= set(data["operators"][0])


def test_it_is_installed_once_and_replaced_only_when_told(tmp_path: Path) -> None:
    written = install(tmp_path)
    assert tmp_path / "stepscope" / "SKILL.md" in written
    with pytest.raises(UsageError):
        install(tmp_path)
    assert install(tmp_path, force=True) == written


def test_the_command_prints_it(stepscope: Command) -> None:
    assert stepscope("skill").out == main_page()
