"""What the tests of the command line share."""

from __future__ import annotations

import sys

import pytest

from stepscope.cli import main
from stepscope.facts import thresholds
from support.commands import ENGLISH, Command, Outcome


@pytest.fixture
def stepscope(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, but within this process, which saves a second each time."""
    for name, value in ENGLISH.items():
        monkeypatch.setenv(name, value)

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["stepscope", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        thresholds.use(None)  # what a command was given ends with it
        written = capsys.readouterr()
        code = left.value.code or 0
        assert isinstance(code, int)
        return Outcome(code, written.out, written.err)

    return call
