"""What the demonstration prints at its end can be typed as it stands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stepscope.cli import demo


def test_the_program_is_named_by_its_path_where_its_environment_is_not_active(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / ".venv" / "bin" / "stepscope"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo.typed_program() == ".venv/bin/stepscope"
    monkeypatch.setenv("PATH", str(program.parent))
    assert demo.typed_program() == "stepscope"
