"""A store knows when it is damaged: right numbers or a sentence, whichever bit has flipped."""

from __future__ import annotations

import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.engine import rank_task
from stepscope.engine.ingest import ingest
from stepscope.errors import StepscopeError, UnreadableInputError
from stepscope.readers import kineto
from stepscope.readers.files.reading import Reading
from stepscope.run import Run
from support.mini_trace import write_capture, write_rank


def answers(run: Run) -> list[Any]:
    """What a user would see of a run: all questions that it can answer, and every table."""
    found: list[Any] = [run.sql("SELECT count(*), sum(dur_ns) FROM slices").rows()]
    for question in ("summary", "steps", "operators", "diagnose"):
        try:
            found.append(run.ask(question).plain())
        except StepscopeError as error:
            found.append(error.message())
    return found


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def stored_files(store: Path) -> list[Path]:
    return sorted(path for path in store.rglob("*") if path.is_file() and path.name != "lock")


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_capture(tmp_path / "capture", [0, 1], steps=3, operators=2)


def test_a_flipped_bit_in_any_file_changes_no_answer(capture: Path, tmp_path: Path) -> None:
    run = stepscope.load(capture, store=tmp_path / "store")
    expected = answers(run)
    dice = random.Random(15)
    in_this_process = ThreadPoolExecutor(1)
    names = [path.relative_to(tmp_path / "store") for path in stored_files(tmp_path / "store")]
    assert {"manifest.json", "found-any.json", "diagnosis.json", "slices-0.parquet"} <= {path.name for path in names}
    for name in names:
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        shutil.copytree(tmp_path / "store", tmp_path / "damaged")
        path = tmp_path / "damaged" / name
        flip(path, dice.randrange(path.stat().st_size * 8))
        again = stepscope.load(capture, store=tmp_path / "damaged", executor=in_this_process)
        assert answers(again) == expected, name
        checked = ingest(capture, store=tmp_path / "damaged", check=True, executor=in_this_process)
        read = {part.rank for part in checked.read}
        assert read <= set(again.ranks), "what no answer needed is found by a check"


def test_a_damaged_rank_alone_is_read_again_with_a_note(capture: Path, tmp_path: Path) -> None:
    before = stepscope.load(capture, store=tmp_path / "store")
    expected = answers(before)
    (slices,) = (before.store.directory / name for name in before.store.manifest.parts[1].tables["slices"])
    kept = before.store.manifest.parts[0].files()
    flip(slices, 8 * 100)
    run = stepscope.load(capture, store=tmp_path / "store")
    assert run.ingested.read == []  # nobody has looked at the file yet
    assert answers(run) == expected
    notes = [note for note in run.notes if note.code == "store_mended"]
    assert [note.rank for note in notes] == [1]
    assert "rank 1 were damaged" in notes[0].sentence()
    assert run.store.manifest.parts[0].files() == kept
    assert [
        note for note in stepscope.load(capture, store=tmp_path / "store").notes if note.code == "store_mended"
    ] == []


def test_ingest_looks_at_every_file(capture: Path, tmp_path: Path) -> None:
    run = stepscope.load(capture, store=tmp_path / "store")
    flip(run.store.directory / next(iter(run.store.manifest.parts[0].tables["details"])), 80)
    done = ingest(capture, store=tmp_path / "store", check=True)
    assert [part.rank for part in done.read] == [0]
    assert ingest(capture, store=tmp_path / "store", check=True).read == []


def test_without_its_capture_a_damaged_run_is_lost_and_says_so(tmp_path: Path) -> None:
    trace = write_rank(tmp_path / "trace.json")
    run = stepscope.load(trace, store=tmp_path / "store")
    flip(run.store.directory / next(iter(run.store.manifest.parts[0].tables["slices"])), 800)
    trace.unlink()
    with pytest.raises(UnreadableInputError, match="damaged") as caught:
        run.table("slices").collect()
    assert caught.value.code == "store_lost"
    assert str(trace) in caught.value.message("zh")


def test_a_run_is_not_mended_from_another_capture(tmp_path: Path) -> None:
    trace = write_rank(tmp_path / "trace.json", steps=2)
    run = stepscope.load(trace, store=tmp_path / "store")
    flip(run.store.directory / next(iter(run.store.manifest.parts[0].tables["slices"])), 800)
    write_rank(trace, steps=3)
    with pytest.raises(UnreadableInputError) as caught:
        run.table("slices").collect()
    assert caught.value.code == "store_damaged"


def test_reading_all_again_leaves_what_others_read(capture: Path, tmp_path: Path) -> None:
    reader = stepscope.load(capture, store=tmp_path / "store")
    for entry in reader.store.directory.iterdir():
        os.utime(entry, (time.time() - 7200,) * 2)  # stored long ago
    rows = reader.table("slices").collect().height
    for _ in range(2):
        ingest(capture, store=tmp_path / "store", again=True)
        assert pl.read_parquet([reader.store.directory / name for name in reader.store.manifest.files("slices")]).height
        assert reader.store.damaged(reader.store.manifest.sizes) == []
    assert reader.table("slices").collect().height == rows


class TestSource:
    def test_one_that_changes_while_it_is_read_is_no_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        trace = write_rank(tmp_path / "trace.json")
        whole = kineto.read

        def slow(reading: Reading) -> None:
            whole(reading)
            trace.write_bytes(trace.read_bytes() + b"\n")

        monkeypatch.setattr(kineto, "read", slow)
        with pytest.raises(UnreadableInputError, match="changed while it was being read") as caught:
            stepscope.load(trace, store=tmp_path / "store")
        assert caught.value.exit_code == 3
        assert [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()] == ["lock"]

    @pytest.mark.parametrize("ranks", [1, 2])
    def test_one_that_goes_while_it_is_read_is_no_fault_of_the_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int
    ) -> None:
        capture = write_capture(tmp_path / "capture", range(ranks))
        whole = kineto.read

        def gone(reading: Reading) -> None:
            whole(reading)
            reading.source.path.unlink()

        monkeypatch.setattr(kineto, "read", gone)
        with ThreadPoolExecutor(1) as pool, pytest.raises(UnreadableInputError) as caught:
            stepscope.load(capture, store=tmp_path / "store", executor=pool)
        assert caught.value.code == "cannot_read"
        assert "rank0.json" in caught.value.message()


class TestFullDisk:
    def test_ranks_that_were_finished_before_are_removed_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        capture = write_capture(tmp_path / "capture", range(3))
        whole = rank_task._read

        def full(task: rank_task.RankTask, rank: int, work: Path, on_read: Any) -> Any:
            if rank == 1:
                raise UnreadableInputError("cannot_write_store", store="here", reason="No space left on device")
            return whole(task, rank, work, on_read)

        monkeypatch.setattr(rank_task, "_read", full)
        with ThreadPoolExecutor(1) as pool, pytest.raises(UnreadableInputError, match="No space left"):
            stepscope.load(capture, store=tmp_path / "store", executor=pool)
        assert [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()] == ["lock"]


class Panic(BaseException):
    """As Polars raises it."""


Panic.__name__ = "PanicException"


def test_a_panic_while_a_rank_is_read_is_an_error_like_others(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panics(_: Reading) -> None:
        raise Panic("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(kineto, "read", panics)
    with pytest.raises(StepscopeError) as caught:
        stepscope.load(capture / "rank0.json", store=tmp_path / "store")
    assert caught.value.code == "internal"
    assert [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()] == ["lock"]


def test_all_that_is_stored_is_its_owners_alone(capture: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        answers(stepscope.load(capture, store=tmp_path / "cache" / "store"))
    finally:
        os.umask(before)
    for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_damaged_manifest_is_reported_when_the_capture_is_read_again(tmp_path: Path) -> None:
    capture = write_rank(tmp_path / "capture", 0)
    first = ingest(capture, store=tmp_path / "store").store
    assert not first.mended
    flip(first.directory / "manifest.json", 400)
    again = ingest(capture, store=tmp_path / "store").store
    assert [note.code for note in again.notes() if note.code == "store_manifest_damaged"] == ["store_manifest_damaged"]
    assert not ingest(capture, store=tmp_path / "store").store.mended
