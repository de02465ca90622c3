"""``--help``: every command says in both languages what it and its options do, and shows examples that run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from stepscope.cli import app
from stepscope.cli.described import GROUPS
from stepscope.questions import QUESTIONS
from stepscope.texts import catalogue
from support.commands import ENGLISH, Command, command_names
from support.limits import HANGS_AFTER_S
from support.recordings import capture_of

_COMMANDS = [*command_names(), "glance"]
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_HEADINGS = {"en": "Examples:", "zh": "示例："}
#: What Click writes by itself.
_FIXED_WORDS = {"usage", "arguments", "options", "default", "required", "env var"}
_FOUR_RANKS = "four_ranks_cuda_slow_compute"
#: Recordings that have what the question is about, where that of four ranks has not.
_RECORDING_FOR = dict.fromkeys(("memory", "leaks", "cpu", "pipeline"), "loader_two_workers_stepscope")
#: They run until somebody ends them, or become the command that they are given.
_OWN_PROCESS = ("view", "mcp", "profile", "demo")
_TRAINING = """
from stepscope.profiler import mstx, profile
with profile(output_path={out!r}, mstx=True, analyse=False) as profiler:
    for _ in range(3):
        span = mstx.range_start("work")
        sum(range(1000))
        mstx.range_end(span)
        profiler.step()
"""


def _group() -> tuple[Any, Any]:
    group: Any = typer.main.get_command(app)  # with the options for completion
    return group, typer.Context(group)


def _shown(stepscope: Command, command: str, language: str = "en") -> list[str]:
    """The example lines of a command's help."""
    help_text = stepscope(command, "--lang", language, "--help").out
    _, found, below = help_text.partition(f"\n{_HEADINGS[language]}\n")
    assert found, f"stepscope {command} --help shows no example"
    return [line.strip() for line in below.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings that are only looked at, each read once for all examples."""
    folder = tmp_path_factory.mktemp("captures")
    for name, recording in (("before", "pair_fp32"), ("after", "pair_bf16")):
        (folder / name).mkdir()
        shutil.copy(capture_of(recording, folder), folder / name / "trace.json.gz")
    for recording in (_FOUR_RANKS, *set(_RECORDING_FOR.values())):
        capture_of(recording, folder / recording)
    return folder


@pytest.fixture
def workplace(captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that has what the examples name."""
    for name in ("before", "after"):
        (tmp_path / name).symlink_to(captures / name)
    monkeypatch.setenv("STEPSCOPE_CACHE", str(captures.with_name(f"{captures.name}-store")))
    (tmp_path / "watched").mkdir()
    (tmp_path / "train.py").write_text("print('trained', sum(range(1000)))\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def _provide_captures(workplace: Path, captures: Path, command: str) -> None:
    if command == "marks":
        script = _TRAINING.format(out=str(workplace / "traces"))
        plain = _environment() | {"STEPSCOPE_BACKEND": "plain"}
        subprocess.run([sys.executable, "-c", script], env=plain, check=True, timeout=HANGS_AFTER_S)
        return
    (workplace / "traces").symlink_to(captures / _RECORDING_FOR.get(command, _FOUR_RANKS))
    if command == "analyse":
        capture_of("torch_cpu_stepscope", workplace / "recorded")


def _environment() -> dict[str, str]:
    return os.environ | ENGLISH


@pytest.mark.parametrize("command", [name for name in _COMMANDS if name not in _OWN_PROCESS])
def test_every_example_runs(stepscope: Command, workplace: Path, captures: Path, command: str) -> None:
    lines = _shown(stepscope, command)
    _provide_captures(workplace, captures, command)
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "stepscope"
        outcome = stepscope(*words)
        assert outcome.code == 0, f"{line}\n{outcome.out}{outcome.err}"


def test_the_example_of_profile_records_a_command(stepscope: Command, workplace: Path) -> None:
    (line,) = _shown(stepscope, "profile")
    done = _own_process(line)
    out, err = done.communicate(timeout=HANGS_AFTER_S)
    assert done.returncode == 0, err
    assert out.startswith("trained")
    assert "recorded" in err


def test_the_examples_of_view_serve_until_they_are_ended(stepscope: Command, workplace: Path, captures: Path) -> None:
    lines = _shown(stepscope, "view")
    _provide_captures(workplace, captures, "view")
    for line in lines:
        serving = _own_process(line if "--port" in line else f"{line} --port 0")  # 8080 may be taken here
        assert serving.stdout is not None
        try:
            address = serving.stdout.readline()
            assert "http://127.0.0.1:" in address
            assert ("/overview" in address) == ("--page" in line)
        finally:
            serving.send_signal(signal.SIGINT)
            serving.communicate(timeout=HANGS_AFTER_S)


def test_the_example_of_mcp_serves_until_its_input_ends(stepscope: Command, workplace: Path, captures: Path) -> None:
    pytest.importorskip("mcp")
    (line,) = _shown(stepscope, "mcp")
    _provide_captures(workplace, captures, "mcp")
    serving = _own_process(line)
    out, err = serving.communicate("", timeout=HANGS_AFTER_S)
    assert (serving.returncode, out) == (0, ""), err


@pytest.mark.torch
def test_the_example_of_demo_runs(stepscope: Command, workplace: Path) -> None:
    (line,) = _shown(stepscope, "demo")
    running = _own_process(f"{line} --steps 2")
    out, err = running.communicate(timeout=HANGS_AFTER_S)
    assert running.returncode == 0, err
    assert re.search(r"^slow_rank \(compute\) +3 .* slow_rank \(compute\) +3 ", out, re.MULTILINE), out
    assert "No other finding was reported." in out
    truth = json.loads((workplace / "demo-output" / "simulated" / "truth.json").read_text())
    assert [fault["ranks"] for fault in truth["faults"] if fault["kind"] == "slow_rank"] == [[3]]
    assert any((workplace / "demo-output" / "recorded").iterdir())


def _own_process(line: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", *shlex.split(line)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=_environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("command", _COMMANDS)
def test_the_examples_are_the_same_in_chinese(stepscope: Command, command: str) -> None:
    assert _shown(stepscope, command, "zh") == _shown(stepscope, command)


@pytest.mark.parametrize("command", [*_COMMANDS, None])
def test_every_option_is_reported_in_both_languages(
    stepscope: Command, command: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line itself, too, which has no name."""
    group, context = _group()
    described = group if command is None else group.get_command(context, command)
    for language, is_chinese in (("en", False), ("zh", True)):
        monkeypatch.setenv("STEPSCOPE_LANG", language)
        assert stepscope(*filter(None, [command]), "--help").code == 0
        told = {param.name: param.help for param in described.get_params(context)}
        wrong = [name for name, help_text in told.items() if bool(_CHINESE.search(help_text or "")) != is_chinese]
        assert (wrong, [name for name, help_text in told.items() if not help_text]) == ([], [])


def test_no_sentence_of_the_help_is_left_over() -> None:
    group, context = _group()
    commands = {name: group.get_command(context, name) for name in _COMMANDS} | {"stepscope": group}
    named = {(name, param.name) for name, command in commands.items() for param in command.get_params(context)}
    used = {f"{command}.{option}" for command, option in named} | {option for _, option in named}
    assert set(catalogue()["command_option"]) - used == set()
    assert set(catalogue()["command"]) == set(commands) - set(QUESTIONS)
    assert set(catalogue()["help_word"]) == {*GROUPS, "start", "examples", *_FIXED_WORDS}


def test_the_list_of_commands_is_whole_and_cuts_no_sentence(stepscope: Command) -> None:
    listed = stepscope("--help").out
    assert "..." not in listed.replace("[ARGS]...", "")
    for command in command_names():
        assert re.search(rf"^  {command}  +\S", listed, re.MULTILINE), command
    assert "\n  glance " not in listed


def test_a_question_without_an_example_of_its_own_shows_one(stepscope: Command) -> None:
    assert "copies" in QUESTIONS
    assert _shown(stepscope, "copies") == ["stepscope copies traces/"]


def test_defaults_stand_as_they_would_be_written(stepscope: Command) -> None:
    """Not in Click's parentheses, and not where a switch is off, as everybody expects."""
    shown = stepscope("profile", "--help").out
    assert "[default: 5; x>=0]" in shown
    assert "[default: data]" in shown
    assert "default: no-" not in stepscope("ranks", "--help").out
