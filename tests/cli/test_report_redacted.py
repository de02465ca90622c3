"""With ``--redact`` no form of report names a host, a user or a directory of the recording."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from support.commands import Command
from support.recordings import DATA

_SECRETS = ("alice", "gpu17", "corp.example", "secret-lab", "10.1.2.3")
_FRAME = "/home/alice/secret-lab/train.py(12): step on gpu17 at tcp://10.1.2.3:29500"


def _recording(place: Path) -> Path:
    """A real recording whose operators, file and directory name somebody."""
    trace = json.loads(gzip.decompress((DATA / "gpu_steps.json.gz").read_bytes()))
    for event in trace["traceEvents"]:
        if event.get("name") == "Optimizer.step#SGD.step":  # the finding's proof
            event["name"] = _FRAME
            event.setdefault("args", {})["Call stack"] = _FRAME
    place.mkdir(parents=True)
    path = place / "gpu17.corp.example_4242.1700000000000.pt.trace.json"
    path.write_text(json.dumps(trace), "utf-8")
    return path


def _contents(path: Path) -> str:
    """Everything that a file or the files of a directory hold, also packed ones, with their names."""
    if path.is_dir():
        return "\n".join(f"{each.name}\n{_contents(each)}" for each in path.iterdir())
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            return "\n".join(book.read(name).decode() for name in book.namelist())
    return path.read_text("utf-8")


def _told(text: str, place: Path) -> list[str]:
    secrets = (*_SECRETS, place.name, str(place))
    return [secret for secret in secrets if secret.lower() in text.lower()]


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["-o", "report.html"], "report.html"),
        (["-o", "report.md"], "report.md"),
        (["--csv", "tables"], "tables"),
        (["-o", "run.xlsx"], "run.xlsx"),
        (["--issue", "1", "-o", "bundle"], "bundle"),
        (["--markdown"], None),
        (["--issue", "1"], None),
    ],
)
def test_no_form_names_anybody(
    stepscope: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], out: str | None
) -> None:
    if "run.xlsx" in arguments:
        pytest.importorskip("xlsxwriter")
    place = tmp_path / "home" / "alice" / "secret-lab"
    path = _recording(place)
    monkeypatch.chdir(tmp_path)
    open_outcome = stepscope("report", path, *arguments)
    assert open_outcome.code == 0, open_outcome.err
    named = _contents(tmp_path / out) if out else open_outcome.out
    assert _told(named, place) != [], "the test has nothing to find"
    outcome = stepscope("report", path, *arguments, "--redact", "--force")
    assert outcome.code == 0, outcome.err
    assert _told(_contents(tmp_path / out) if out else outcome.out, place) == []


def test_a_comparison_names_nobody(stepscope: Command, tmp_path: Path) -> None:
    one, other = (_recording(tmp_path / "home" / "alice" / name) for name in ("secret-lab", "secret-lab-2"))
    outcome = stepscope("report", one, other, "--compare", "-o", tmp_path / "page.html", "--redact")
    assert outcome.code == 0, outcome.err
    assert _told(_contents(tmp_path / "page.html"), one.parent) == []
