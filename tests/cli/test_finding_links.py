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
