"""Several paths make one run, however they are spelled and in whatever order; what does not fit together is said."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.run import Run
from support.mini_trace import complete, slices_in, write_capture, write_rank, write_trace, write_unreadable

_THREADS = ThreadPoolExecutor(2)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def _load(paths: Any, **options: Any) -> Run:
    """Reads in threads: processes would take a second each time."""
    return stepscope.load(paths, executor=_THREADS, **options)


def _unnamed(path: Path, name: str = "") -> Path:
    """A trace that tells neither rank nor worker."""
    return write_trace(path, [complete(name or path.stem, "1.000", "1.000")], rank=None)


def _slices(run: Run) -> Counter[tuple[str, int, int]]:
    frame = run.table("slices").select(pl.col("name").cast(pl.String), "start_ns", "dur_ns").collect()
    return Counter(frame.iter_rows())


def _names_by_rank(run: Run) -> dict[int, str]:
    frame = run.table("slices").select("rank", pl.col("name").cast(pl.String)).collect()
    return dict(frame.sort("rank").iter_rows())


def _codes(run: Run) -> dict[str, int]:
    return {note.code: note.count for note in run.notes if note.rank is None}


class TestOneRun:
    def test_files_of_ranks_are_one_run_wherever_they_lie(self, tmp_path: Path, store: Path) -> None:
        files = [write_rank(tmp_path / place / f"rank{n}.json", n, world_size=2) for n, place in enumerate(("a", "b"))]
        run = _load(files, store=store)
        assert (run.ranks, _codes(run)) == ([0, 1], {})
        assert _slices(run) == slices_in(files[0]) + slices_in(files[1])

    def test_files_are_the_run_that_their_directory_is(self, tmp_path: Path, store: Path) -> None:
        capture = write_capture(tmp_path / "capture", range(3))
        run, whole = _load(sorted(capture.iterdir()), store=store), _load(capture, store=store)
        assert (run.window, run.windows, run.ranks) == (whole.window, whole.windows, whole.ranks)
        assert _slices(run) == _slices(whole)

    def test_files_recorded_one_after_the_other_are_no_ranks(self, tmp_path: Path, store: Path) -> None:
        later = complete("later", "20000000.000", "5.000")  # 20 s
        files = [_unnamed(tmp_path / "b.json"), write_trace(tmp_path / "a.json", [later], rank=None)]
        run = _load(files, store=store)
        assert (run.ranks, run.windows) == ([0], ["b", "a"])
        assert _names_by_rank(run) == {0: "later"}

    def test_directories_of_hosts_with_several_ranks_each(self, tmp_path: Path, store: Path) -> None:
        for rank in range(4):
            write_rank(tmp_path / f"host{rank // 2}" / f"rank{rank}.json", rank, world_size=4)
        assert _load([tmp_path / "host0", tmp_path / "host1"], store=store).ranks == [0, 1, 2, 3]

    def test_a_file_and_a_directory(self, tmp_path: Path, store: Path) -> None:
        for rank in range(3):
            write_rank(tmp_path / ("one" if rank == 0 else "more") / f"rank{rank}.json", rank, world_size=3)
        assert _load([tmp_path / "one" / "rank0.json", tmp_path / "more"], store=store).ranks == [0, 1, 2]

    def test_windows_of_hosts_are_joined_newest_with_newest(self, tmp_path: Path, store: Path) -> None:
        for rank, span in itertools.product((0, 1), (1000, 2000)):
            write_rank(
                tmp_path / f"host{rank}" / f"w{rank}.{span + rank}.pt.trace.json",
                rank,
                world_size=2,
                steps=span // 1000,
            )
        hosts = [tmp_path / "host0", tmp_path / "host1"]
        newest = _load(hosts, store=store)
        assert (newest.ranks, len(newest.windows), newest.window) == ([0, 1], 2, newest.windows[-1])
        assert newest.table("steps").collect().height == 2 * 2
        older = _load(hosts, window=newest.windows[0], store=store)
        assert older.ranks == [0, 1]
        assert older.table("steps").collect().height == 2 * 1
        assert older.store.directory != newest.store.directory

    def test_a_path_and_its_parent_count_once(self, tmp_path: Path, store: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        run = _load([capture / "rank0.json", capture], store=store)
        assert (run.ranks, run.windows, _codes(run)) == ([0, 1], ["capture"], {})
        assert _slices(run) == slices_in(capture / "rank0.json") + slices_in(capture / "rank1.json")


class TestRanksThatNobodyNames:
    def test_they_are_numbered_with_a_note(self, tmp_path: Path, store: Path) -> None:
        files = [_unnamed(tmp_path / f"gpu{number}.json") for number in (10, 9, 1)]
        run = _load(files, store=store)
        assert _names_by_rank(run) == {0: "gpu1", 1: "gpu9", 2: "gpu10"}
        assert _codes(run) == {"rank_guessed": 3}

    def test_one_number_for_each_of_two_directories(self, tmp_path: Path, store: Path) -> None:
        for name in ("node-a", "node-b"):
            _unnamed(tmp_path / name / "trace.json", name)
        run = _load([tmp_path / "node-b", tmp_path / "node-a"], store=store)
        assert _names_by_rank(run) == {0: "node-a", 1: "node-b"}
        assert _codes(run) == {"rank_guessed": 2}

    def test_a_stated_rank_keeps_its_number(self, tmp_path: Path, store: Path) -> None:
        stated = write_trace(tmp_path / "z.json", [complete("stated", "1.000", "1.000")], rank=0, world_size=2)
        run = _load([_unnamed(tmp_path / "a.json"), stated], store=store)
        assert _names_by_rank(run) == {0: "stated", 1: "a"}
        assert _codes(run) == {"rank_guessed": 1}

    @pytest.mark.parametrize("world", [1, 2])
    def test_who_is_beside_all_ranks_of_a_job_is_none_of_them(self, world: int, tmp_path: Path, store: Path) -> None:
        """As when a shell lists the folder of a server: its workers' traces, and its front end's."""
        ranks = [write_rank(tmp_path / f"worker{rank}.json", rank, world_size=world) for rank in range(world)]
        front_end = _unnamed(tmp_path / "node_499.async_llm.7.pt.trace.json")
        run = _load([front_end, *ranks], store=store)
        assert run.ranks == list(range(world))
        assert _slices(run) == sum((slices_in(file) for file in ranks), Counter())
        assert len(run.windows) == 2


class TestWhatDoesNotFit:
    def test_rank_0_of_two_runs_makes_two_windows_and_a_note(self, tmp_path: Path, store: Path) -> None:
        for age, name in enumerate(("old", "new")):
            file = write_rank(tmp_path / name / "rank0.json", 0, steps=age + 1)
            os.utime(file, (1000 + age, 1000 + age))
        run = _load([tmp_path / "new", tmp_path / "old"], store=store)
        assert (run.windows, run.window, run.ranks) == (["old/rank0", "new/rank0"], "new/rank0", [0])
        (note,) = [note for note in run.notes if note.code == "paths_in_other_windows"]
        assert note.count == 1
        assert "old/rank0, new/rank0" in note.sentence()
        other = _load([tmp_path / "new", tmp_path / "old"], window="old/rank0", store=store)
        assert _slices(other) == slices_in(tmp_path / "old" / "rank0.json")

    def test_ranks_of_two_runs_are_not_mixed(self, tmp_path: Path, store: Path) -> None:
        for name in ("run1", "run2"):
            write_capture(tmp_path / name, [0, 1])
        files = sorted(tmp_path.glob("run*/rank*.json"))
        for wanted in ("run1", "run2"):
            run = _load(files, window=wanted, store=store)
            sources = run.table("ranks").collect()["source"].to_list()
            assert sources == [str(tmp_path / wanted / f"rank{rank}.json") for rank in (0, 1)]
            assert _codes(run) == {"paths_in_other_windows": 2}

    def test_jobs_of_another_size_are_separate(self, tmp_path: Path, store: Path) -> None:
        files = [write_rank(tmp_path / f"rank{n}.json", n, world_size=world) for n, world in ((0, 2), (1, 4))]
        assert len(_load(files, store=store).windows) == 2


class TestErrors:
    def test_no_path_is_the_users_mistake(self) -> None:
        with pytest.raises(UsageError, match="No path"):
            _load([])

    @pytest.mark.parametrize("content", [None, b"", b"hello", b"\x1f\x8b\x08\x00broken", "no events", "directory"])
    @pytest.mark.parametrize("name", ["a-bad.json", "z-bad.json"])
    def test_one_bad_path_is_named_and_nothing_is_stored(
        self, tmp_path: Path, store: Path, name: str, content: bytes | str | None
    ) -> None:
        good = write_rank(tmp_path / "good" / "rank0.json", 0, world_size=2)
        bad = tmp_path / name
        if content == "no events":
            write_unreadable(bad, 1, world_size=2)
        elif content == "directory":
            bad.mkdir()
        elif isinstance(content, bytes):
            bad.write_bytes(content)
        for _ in range(2):
            with pytest.raises(UnreadableInputError) as caught:
                _load([good, bad], store=store)
            assert caught.value.exit_code == 3
            assert str(bad) in str(caught.value)
            assert [file for file in store.rglob("*") if file.is_file() and file.name != "lock"] == []

    def test_one_rank_of_a_given_directory_is_noted_as_ever(self, tmp_path: Path, store: Path) -> None:
        for rank in range(3):
            write_rank(tmp_path / f"host{min(rank, 1)}" / f"rank{rank}.json", rank, world_size=3)
        write_unreadable(tmp_path / "host1" / "rank2.json", 2, world_size=3)
        run = _load([tmp_path / "host0", tmp_path / "host1"], store=store)
        assert (run.ranks, _codes(run)) == ([0, 1], {"rank_unreadable": 1})

    def test_a_store_inside_any_of_the_paths_is_refused(self, tmp_path: Path) -> None:
        paths = [write_capture(tmp_path / "a", [0]), write_capture(tmp_path / "b", [1])]
        for path in paths:
            with pytest.raises(UsageError, match="inside the capture"):
                _load(paths, store=path / "store")
            assert len(list(path.iterdir())) == 1


class TestStore:
    def test_order_and_spelling_do_not_matter(
        self, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        files = [capture / "rank0.json", capture / "rank1.json"]
        first = _load(files, store=store)
        (tmp_path / "link.json").symlink_to(files[0])
        monkeypatch.chdir(capture)
        for spelled in (
            [*reversed(files)],
            [*files, *files],
            ["rank1.json", "./rank0.json"],
            [files[1], "../link.json"],
        ):
            again = _load(spelled, store=store)
            assert again.ingested.read == []
            assert again.store.directory == first.store.directory

    def test_one_path_in_a_list_is_that_path(self, tmp_path: Path, store: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        for path in (capture, capture / "rank0.json"):
            alone = _load(path, store=store)
            listed = _load([path, path], store=store)
            assert listed.ingested.read == []
            assert listed.store.directory == alone.store.directory
            assert listed.describe() == alone.describe()

    def test_a_changed_file_makes_only_its_rank_be_read(self, tmp_path: Path, store: Path) -> None:
        files = sorted(write_capture(tmp_path / "capture", [0, 1]).iterdir())
        _load(files, store=store)
        write_rank(files[1], 1, world_size=2, steps=5)
        run = _load(files, store=store)
        assert [part.rank for part in run.ingested.read] == [1]
        assert _slices(run) == slices_in(files[0]) + slices_in(files[1])

    def test_a_rank_that_comes_into_a_given_directory_is_seen(self, tmp_path: Path, store: Path) -> None:
        paths = [write_rank(tmp_path / "rank0.json", 0, world_size=3), tmp_path / "more"]
        write_rank(tmp_path / "more" / "rank1.json", 1, world_size=3)
        assert _load(paths, store=store).ranks == [0, 1]
        write_rank(tmp_path / "more" / "rank2.json", 2, world_size=3)
        assert _load(paths, store=store).ranks == [0, 1, 2]

    def test_what_is_known_is_opened_without_asking_a_reader(self, tmp_path: Path, store: Path) -> None:
        files = sorted(write_capture(tmp_path / "capture", [0, 1]).iterdir())
        _load(files, store=store)
        script = (
            "import sys, stepscope\n"
            "run = stepscope.load(sys.argv[2:], store=sys.argv[1])\n"
            "assert run.ingested.read == [] and run.ranks == [0, 1]\n"
            "print(*(name for name in sys.modules if name.startswith('stepscope.readers.')))"
        )
        done = subprocess.run([sys.executable, "-c", script, store, *files], capture_output=True, text=True, check=True)
        assert not {f"stepscope.readers.{name}" for name in ("kineto", "chrome", "ascend_text")} & set(
            done.stdout.split()
        )

    def test_a_run_tells_all_its_paths(self, tmp_path: Path, store: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        files = sorted(map(str, capture.iterdir()))
        found = _load(files, store=store).describe()
        assert (found["path"], found["paths"]) == (str(capture), files)
