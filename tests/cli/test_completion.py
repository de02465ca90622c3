"""Completion in the shell: commands with what they do, options, values, and paths where nothing else fits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import ENGLISH, command_names
from support.limits import HANGS_AFTER_S

_PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _run(command: list[str], **variables: str) -> str:
    environment = os.environ | ENGLISH | {"PATH": _PATH} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert done.stderr == ""
    return done.stdout


def _in_bash(*words: str) -> list[str]:
    """What bash offers for the last word, by the script that ``--show-completion`` prints."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        'eval "$(stepscope --show-completion)"\n'
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        '_stepscope_completion stepscope\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    return _run(["bash", "-c", script]).split()


def test_bash_completes_commands_options_and_values() -> None:
    assert set(_in_bash("stepscope", "")) == set(command_names())
    assert _in_bash("stepscope", "diag") == ["diagnose"]
    assert _in_bash("stepscope", "steps", "--exp") == ["--explain"]
    assert _in_bash("stepscope", "simulate", "x", "--format", "ascend") == ["ascend-text", "ascend-db"]


def test_what_is_no_command_is_left_to_the_shell_which_knows_files() -> None:
    assert _in_bash("stepscope", "traces") == []
    assert "-o default" in _run(["bash", "-c", "stepscope --show-completion; true"])  # whose shell is bash


@pytest.mark.parametrize(("language", "told"), [("en", "Find out what to fix first"), ("zh", "找出最该先优化的问题")])
def test_zsh_gets_commands_with_their_sentences(language: str, told: str) -> None:
    asked = {"_STEPSCOPE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "stepscope ", "STEPSCOPE_LANG": language}
    offered = _run(["stepscope"], **asked)
    assert f'"diagnose":"{told}"' in offered
    assert all(f'"{name}"' in offered for name in command_names())


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_accepts_the_script() -> None:
    _run(["zsh", "-f", "-c", 'autoload -Uz compinit; compinit -u; eval "$(stepscope --show-completion)"'])
