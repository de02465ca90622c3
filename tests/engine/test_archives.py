"""Archives of captures: the same run as the directory, within bounds, and nothing written beside the archive."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.engine import archives
from stepscope.errors import UnreadableInputError
from stepscope.facts.archives import ArchivesFacts
from support.mini_trace import write_capture


def _packed(capture: Path, target: Path) -> Path:
    files = sorted(path for path in capture.rglob("*") if path.is_file())
    if target.suffix == ".zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(capture))
    else:
        with tarfile.open(target, "w:gz" if target.suffix in (".gz", ".tgz") else "w") as archive:
            for file in files:
                archive.add(file, file.relative_to(capture))
    return target


def _rows(run: stepscope.Run) -> list[Any]:
    return run.sql("SELECT rank, name, start_ns, dur_ns FROM slices ORDER BY ALL").rows()


@pytest.mark.parametrize("name", ["ranks.tar.gz", "ranks.tgz", "ranks.tar", "ranks.zip"])
def test_an_archive_is_the_run_of_its_directory(name: str, tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "capture", [0, 1])
    (tmp_path / "here").mkdir()
    path = _packed(capture, tmp_path / "here" / name)
    run = stepscope.load(path, progress=False)
    assert run.ranks == [0, 1]
    assert run.window == name
    assert _rows(run) == _rows(stepscope.load(capture, progress=False))
    assert [file.name for file in path.parent.iterdir()] == [name], "nothing is written beside it"
    assert not stepscope.load(path, progress=False).ingested.read, "the second time nothing is read"


def test_a_changed_archive_is_read_again(tmp_path: Path) -> None:
    path = _packed(write_capture(tmp_path / "one", [0]), tmp_path / "a.tar.gz")
    assert stepscope.load(path, progress=False).ranks == [0]
    _packed(write_capture(tmp_path / "two", [0, 1, 2]), path)
    assert stepscope.load(path, progress=False).ranks == [0, 1, 2]


@pytest.mark.parametrize("name", ["../outside.json", "/etc/outside.json", "a/../../outside.json"])
def test_files_that_would_lie_outside_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = 2
        archive.addfile(entry, io.BytesIO(b"[]"))
    with pytest.raises(UnreadableInputError) as refused:
        stepscope.load(path, progress=False)
    assert name in refused.value.message("en")
    assert not list(tmp_path.glob("outside*"))


def test_links_are_left_out(tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "capture", [0])
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(capture / "rank0.json", "rank0.json")
        link = tarfile.TarInfo("rank1.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    assert stepscope.load(path, progress=False).ranks == [0]


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "archives_facts", lambda: ArchivesFacts(2, 0, 1000))
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", b"[" + b" " * 1_000_000 + b"]")
    with pytest.raises(UnreadableInputError) as refused:
        stepscope.load(path, progress=False)
    assert "expands" in refused.value.message("en")


def test_of_a_cut_archive_come_the_files_before_the_cut(tmp_path: Path) -> None:
    path = _packed(write_capture(tmp_path / "capture", [0, 1], steps=200), tmp_path / "cut.tar")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    run = stepscope.load(path, progress=False)
    assert 0 in run.ranks
    assert "archive_cut" in {note.code for note in run.notes}


def test_what_is_no_archive_gets_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "no.zip"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UnreadableInputError, match="neither a zip nor a tar file") as refused:
        stepscope.load(path, progress=False)
    assert refused.value.code == "not_an_archive"


def test_a_file_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nameless.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("."), b"{}")
    with pytest.raises(UnreadableInputError, match="outside"):
        stepscope.load(path, progress=False)
