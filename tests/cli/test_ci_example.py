"""The script for CI of ``examples/ci``, as a CI runs it: two captures, one baseline, exit codes and Markdown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import ENGLISH
from support.limits import HANGS_AFTER_S
from support.recordings import DATA

_CI = Path(__file__).parents[2] / "examples" / "ci"
Gate = Callable[..., subprocess.CompletedProcess[str]]
_SLOW, _SLOW_AGAIN, _FAST = (DATA / f"pair_{name}.json.gz" for name in ("fp32", "fp32_again", "bf16"))


@pytest.fixture
def gate(tmp_path: Path, isolated_store: Path) -> Gate:
    environment = os.environ | ENGLISH | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def run(*words: object, **settings: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", str(_CI / "gate.sh"), *map(str, words)]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment | settings,
            capture_output=True,
            text=True,
            timeout=HANGS_AFTER_S,
            check=False,
        )

    return run


def test_a_slower_run_fails_and_says_why_in_markdown(gate: Gate) -> None:
    assert gate("save", _FAST).returncode == 0
    done = gate("check", _SLOW)
    assert done.returncode == 4, done.stderr
    assert "slower" in done.stdout
    assert re.search(r"^\|.*\|$", done.stdout, re.MULTILINE)
    # The same difference is allowed where the gate says so.
    assert gate("check", _SLOW, STEPSCOPE_GATE="slower:500%").returncode == 0


def test_a_repetition_passes_and_a_first_run_has_nothing_to_fail(gate: Gate, tmp_path: Path) -> None:
    first = gate("check", _SLOW)
    assert first.returncode == 0, first.stderr
    assert "no baseline yet" in first.stdout
    assert gate("save", _SLOW).returncode == 0
    again = gate("check", _SLOW_AGAIN)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / ".stepscope" / "main" / _SLOW.name).read_bytes() == _SLOW.read_bytes()


def test_wrong_usage_is_a_clear_error(gate: Gate) -> None:
    assert (gate().returncode, gate("chekc", _SLOW).returncode) == (2, 2)


def test_the_workflow_calls_the_script_as_it_is_meant() -> None:
    workflow = (_CI / "speed.yml").read_text("utf-8")
    assert re.findall(r"gate\.sh (\w+) (\w+)", workflow) == [("check", "recorded"), ("save", "recorded")]
    assert "\t" not in workflow
