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


def _recording(place: Path, frame: str = _FRAME, of: str = "Optimizer.step#SGD.step") -> Path:
    """A real recording whose operators, file and directory name somebody."""
    trace = json.loads(gzip.decompress((DATA / "gpu_steps.json.gz").read_bytes()))
    for event in trace["traceEvents"]:
        if event.get("name") == of:  # the finding's proof, unless something else is chosen
            event["name"] = frame
            event.setdefault("args", {})["Call stack"] = frame
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


def _pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two recordings of somebody; the second is slower, and has an operator more."""
    one, other = (_recording(tmp_path / "home" / "alice" / name) for name in ("secret-lab", "secret-lab-2"))
    return one, other


def test_a_report_of_a_comparison_names_nobody(stepscope: Command, tmp_path: Path) -> None:
    one, other = _pair(tmp_path)
    outcome = stepscope("report", one, other, "--compare", "-o", tmp_path / "page.html", "--redact")
    assert outcome.code == 0, outcome.err
    assert _told(_contents(tmp_path / "page.html"), one.parent) == []


@pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"], ["--html", "page.html"]], ids=str)
def test_a_comparison_names_nobody(
    stepscope: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    one, other = _pair(tmp_path)
    monkeypatch.chdir(tmp_path)

    def shown(*further: str) -> str:
        outcome = stepscope("compare", one, other, *form, *further)
        assert outcome.code == 0, outcome.err
        return _contents(tmp_path / "page.html") if "--html" in form else outcome.out

    assert _told(shown(), one.parent) != [], "the test has nothing to find"
    assert _told(shown("--redact", "--force"), one.parent) == []


#: What a frame or a file may name without a whole path, and the words that must not be left of it.
_HARD_TO_SEE = {
    "relative path": ("alice_net/layers/train.py(12): step", "alice_net"),
    "path from the parent": ("../bobs_models/train.py(3): step", "bobs_models"),
    "bare address": ("peer 10.9.8.7 is late", "10.9.8.7"),
    "bare address of version 6": ("peer fe80::a11c:e1 is late", "a11c"),
    "address with a port": ("connect 172.16.5.4:29500", "172.16.5.4"),
}


@pytest.mark.parametrize("kind", _HARD_TO_SEE)
def test_what_is_hard_to_see_is_replaced_too(stepscope: Command, tmp_path: Path, kind: str) -> None:
    frame, secret = _HARD_TO_SEE[kind]
    path = _recording(tmp_path / "somewhere", frame, of="aten::addmm")
    page = tmp_path / "page.html"
    for words in (["report", path, "-o", page], ["compare", path, path, "--json"]):
        for redact, is_seen in (([], True), (["--redact", "--force"], False)):
            outcome = stepscope(*words, *redact)
            assert outcome.code == 0, outcome.err
            text = _contents(page) if "-o" in words else outcome.out
            assert (secret in text) == is_seen, (words, redact)


@pytest.mark.parametrize("name", ["zebulon_experiment.json", "exp-of-zebulon_rank0.pt.trace.json"])
@pytest.mark.parametrize("form", ["report", "compare", "compare --json", "report --markdown"])
def test_the_own_name_of_a_file_is_replaced(
    stepscope: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, name: str
) -> None:
    """Also where the file alone is given, whose name then stands in titles."""
    path = _recording(tmp_path / "somewhere").rename(tmp_path / "somewhere" / name)
    monkeypatch.chdir(tmp_path / "somewhere")
    command, *option = form.split()
    page = tmp_path / "page.html"
    out = [] if option else ["-o" if command == "report" else "--html", page]
    paths = [path.name] if command == "report" else [path.name, path.name]
    for redact, is_seen in (([], True), (["--redact", "--force"], False)):
        outcome = stepscope(command, *paths, *option, *out, *redact)
        assert outcome.code == 0, outcome.err
        assert ("zebulon" in (_contents(page) if out else outcome.out)) == is_seen
