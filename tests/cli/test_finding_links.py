"""A finding at the terminal carries the command that opens its proof."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stepscope.cli import view
from stepscope.server import serve
from stepscope.server.library import run_id
from support.commands import Command
from support.mini_trace import write_rank


def test_the_command_under_a_finding_opens_the_address_of_its_proof(
    tmp_path: Path, stepscope: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_rank(tmp_path / "a trace.json", steps=4)
    findings = json.loads(stepscope("diagnose", trace, "--json").out)["data"]["findings"]
    proved = [finding["id"] for finding in findings if finding["proof"]]
    links = re.findall(r"see it: stepscope view '(.*)' --finding (\S+)", stepscope("diagnose", trace).out)
    assert links == [(str(trace), name) for name in proved] != []
    # The server itself is not started: what it would say is enough.
    monkeypatch.setattr(serve, "serve", lambda settings, ready: ready(serve.address(settings)))
    monkeypatch.setattr(view, "_has_display", lambda: False)
    said = stepscope("view", trace, "--finding", proved[0], "--no-token").out
    assert f"/#/run/{run_id(trace.resolve(), None)}/overview?finding={proved[0]}" in said.replace("\n", "")


def test_the_command_shows_the_run_with_the_limits_it_was_judged_by(tmp_path: Path, stepscope: Command) -> None:
    trace = write_rank(tmp_path / "trace.json", steps=4)
    limits = tmp_path / "mine.toml"
    limits.write_text("findings.strength.mild_share = 0.03", "utf-8")
    said = stepscope("diagnose", trace, "--thresholds", limits).out
    assert re.search(rf"see it: stepscope view {trace} .*--thresholds {limits} --finding \S+", said)


def test_an_older_window_has_no_command_since_the_pages_open_the_newest(tmp_path: Path, stepscope: Command) -> None:
    for number, window in enumerate(("first", "second")):
        write_rank(tmp_path / "captures" / window / "trace.json", steps=4 + number)
    windows = json.loads(stepscope("diagnose", tmp_path / "captures", "--json").out)["run"]["windows"]
    assert len(windows) == 2
    assert "see it:" in stepscope("diagnose", tmp_path / "captures", "--window", windows[-1]).out
    assert "see it:" not in stepscope("diagnose", tmp_path / "captures", "--window", windows[0]).out
