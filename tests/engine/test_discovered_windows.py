"""A directory that has not changed is opened without asking any reader; one that has is looked through again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from support.mini_trace import complete, write_capture, write_rank, write_trace


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_capture(tmp_path / "capture", [0, 1])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_nothing_that_reads_is_imported_for_a_directory_that_is_known(capture: Path, store: Path) -> None:
    first = stepscope.load(capture, store=store)
    script = (
        "import sys, stepscope\n"
        "run = stepscope.load(sys.argv[1], store=sys.argv[2])\n"
        "assert run.ingested.read == []\n"
        "print(*run.ranks, run.window, *(name for name in sys.modules if name.startswith('stepscope.readers.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, capture, store], capture_output=True, text=True, check=True
    ).stdout.split()
    assert done[:3] == ["0", "1", first.window]
    assert not {f"stepscope.readers.{name}" for name in ("kineto", "chrome", "ascend_text", "mindinsight")} & set(done)


def test_a_new_rank_is_seen(capture: Path, store: Path) -> None:
    stepscope.load(capture, store=store)
    write_rank(capture / "rank2.json", 2, world_size=2)
    assert stepscope.load(capture, store=store).ranks == [0, 1, 2]


def test_a_new_window_deeper_below_is_seen(capture: Path, store: Path) -> None:
    before = stepscope.load(capture, store=store)
    write_rank(capture / "later" / "host_7.5.pt.trace.json", 0)
    assert len(stepscope.load(capture, store=store).windows) > len(before.windows)


def test_a_rank_that_went_is_gone(capture: Path, store: Path) -> None:
    stepscope.load(capture, store=store)
    (capture / "rank1.json").unlink()
    assert stepscope.load(capture, store=store).ranks == [0]


def test_a_file_of_equal_size_and_time_with_another_rank_is_seen(capture: Path, store: Path) -> None:
    stepscope.load(capture, store=store)
    file = capture / "rank1.json"
    before = file.stat()
    text = file.read_bytes()
    changed = text.replace(b'"rank": 1', b'"rank": 5')
    assert changed != text
    other = file.with_name("other")
    other.write_bytes(changed)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)  # as programs do that write a new file and rename it
    assert stepscope.load(capture, store=store).ranks == [0, 5]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"written_by": 1', "\0"])
def test_a_damaged_memory_is_no_harm(capture: Path, store: Path, text: str) -> None:
    expected = stepscope.load(capture, store=store)
    (memory,) = store.rglob("found-*.json")
    memory.write_text(text)
    again = stepscope.load(capture, store=store)
    assert (again.ranks, again.windows, again.ingested.read) == (expected.ranks, expected.windows, [])


def test_notes_about_the_capture_survive_when_a_store_is_made_anew(tmp_path: Path, store: Path) -> None:
    for number in range(2):
        write_trace(
            tmp_path / "capture" / f"host_{number}.9.pt.trace.json", [complete("a", "1.000", "1.000")], rank=None
        )
    first = stepscope.load(tmp_path / "capture", store=store)
    expected = first.notes
    assert "rank_guessed" in [note.code for note in expected]
    shutil.rmtree(first.store.directory)
    assert stepscope.load(tmp_path / "capture", store=store).notes == expected
