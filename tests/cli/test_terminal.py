"""At a terminal: series as small bars, and columns left out rather than numbers cut; neither where output is piped."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.questions import QUESTIONS
from stepscope.questions.fields import fields
from stepscope.questions.units import units_within
from stepscope.texts import catalogue
from support.commands import ENGLISH, Command
from support.recordings import DATA

_LOADER = DATA / "loader_every_fourth.json.gz"
_SLOW, _FAST = DATA / "pair_fp32.json.gz", DATA / "pair_bf16.json.gz"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _at_terminal(columns: int, *words: object) -> str:
    """What a terminal of this width shows."""
    ours, theirs = pty.openpty()
    environment = os.environ | ENGLISH | {"COLUMNS": str(columns), "TERM": "xterm"}
    command = [sys.executable, "-m", "stepscope", *map(str, words)]
    process = subprocess.Popen(command, env=environment, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    while piece := _read(ours):
        shown += piece
    os.close(ours)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return _CONTROL.sub("", shown.decode()).replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def test_steps_are_drawn_as_bars_every_fourth_of_which_is_long(isolated_store: Path) -> None:
    line = next(line for line in _at_terminal(120, "steps", _LOADER).splitlines() if line.startswith("rank 0:"))
    bars = line.rpartition("  ")[2]
    assert len(bars) == 12
    assert [number for number, bar in enumerate(bars) if bar == "█"] == [3, 7, 11]


def test_both_sides_of_a_comparison_have_one_scale(isolated_store: Path) -> None:
    shown = _at_terminal(120, "compare", _SLOW, _FAST)
    slow, fast = (re.search(rf"^{side}: .*  (\S+)$", shown, re.MULTILINE) for side in "AB")
    assert slow is not None
    assert fast is not None
    assert min(slow[1]) > max(fast[1])


@pytest.mark.parametrize("columns", [50, 60, 80])
def test_no_number_is_cut_and_what_is_left_out_is_noted(columns: int, isolated_store: Path) -> None:
    shown = _at_terminal(columns, "steps", _LOADER)
    assert "…" not in shown
    assert "Left out, because the terminal is narrow" in shown
    assert max(map(len, shown.partition("unusually long")[2].splitlines())) <= columns
    assert "period" in shown


def test_a_pipe_gets_everything_and_no_bars(stepscope: Command) -> None:
    piped = stepscope("steps", _LOADER).out
    assert "█" not in piped
    assert "Left out" not in piped
    assert "forward" in piped


def test_every_column_name_belongs_to_a_field_of_an_answer() -> None:
    known = set()
    for question in QUESTIONS.values():
        units = units_within(tuple.__class_getitem__((question.type, *question.beside.values())))
        for field in (path.rpartition(".")[2] for path in fields(question)):
            known |= {field, field.removesuffix(f"_{units.get(field)}")}
    assert set(catalogue()["column_name"]) - known == set()
