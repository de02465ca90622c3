"""From a capture to a run: windows, ranks that cannot be read, and any way of calling it."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import stepscope
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.run import Run
from stepscope.store.schema import SCHEMA_VERSION
from support.limits import HANGS_AFTER_S
from support.mini_trace import complete, slices_in, write_capture, write_rank, write_trace, write_unreadable


def _slices(run: Run) -> Counter[tuple[str, int, int]]:
    frame = run.table("slices").select(pl.col("name").cast(pl.String), "start_ns", "dur_ns").collect()
    return Counter(frame.iter_rows())


class TestWindows:
    @pytest.fixture
    def repeated(self, tmp_path: Path) -> Path:
        """Three captures of one worker, as a profiler with ``repeat=3`` writes them; the files' times mislead."""
        for steps, span in ((1, 1000), (2, 2000), (3, 3000)):
            file = write_rank(tmp_path / "capture" / f"host_77.{span}.pt.trace.json", steps=steps)
            os.utime(file, (4000 - span, 4000 - span))
        return tmp_path / "capture"

    def test_they_are_listed_oldest_first_and_the_newest_is_taken(self, repeated: Path) -> None:
        run = stepscope.load(repeated)
        assert run.windows == ["host_77.1000", "host_77.2000", "host_77.3000"]
        assert run.window == "host_77.3000"
        assert _slices(run) == slices_in(repeated / "host_77.3000.pt.trace.json")

    def test_one_can_be_chosen_and_each_has_its_own_store(self, repeated: Path) -> None:
        newest = stepscope.load(repeated)
        run = stepscope.load(repeated, window="host_77.1000")
        assert run.window == "host_77.1000"
        assert _slices(run) == slices_in(repeated / "host_77.1000.pt.trace.json")
        assert run.store.directory != newest.store.directory
        assert stepscope.load(repeated).ingested.read == []
        assert stepscope.load(repeated, window="host_77.1000").ingested.read == []

    def test_one_that_does_not_exist_is_the_users_mistake(self, repeated: Path) -> None:
        with pytest.raises(UsageError, match=r"host_77\.1000, host_77\.2000, host_77\.3000"):
            stepscope.load(repeated, window="host_77.4000")

    def test_without_a_number_in_their_names_the_time_of_the_files_decides(self, tmp_path: Path) -> None:
        for name, moment in (("b.json", 1000), ("c.json", 2000), ("a.json", 3000)):
            file = write_trace(tmp_path / "capture" / name, [complete(name, "1.000", "1.000")], rank=None)
            os.utime(file, (moment, moment))
        assert stepscope.load(tmp_path / "capture").windows == ["b", "c", "a"]

    def test_a_file_is_one_window(self, repeated: Path) -> None:
        run = stepscope.load(repeated / "host_77.2000.pt.trace.json")
        assert run.windows == ["host_77.2000"]
        assert _slices(run) == slices_in(repeated / "host_77.2000.pt.trace.json")


class TestRanks:
    def test_each_rank_is_read_from_its_own_file(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 3, 11])
        run = stepscope.load(capture)
        assert run.ranks == [0, 3, 11]
        for rank in run.ranks:
            names = run.table("slices", [rank]).collect()["name"].cast(pl.String).to_list()
            assert [name for name in names if name.startswith("rank_")] == [f"rank_{rank}"]
        assert run.table("ranks").collect().select("rank", "world_size").rows() == [(0, 3), (3, 3), (11, 3)]

    def test_one_that_cannot_be_read_is_noted_and_the_others_are_there(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        for rank in (0, 1):
            write_rank(capture / f"rank{rank}.json", rank, world_size=3)
        bad = write_unreadable(capture / "rank2.json", 2, world_size=3)
        for _ in range(3):  # also when the others are known already
            run = stepscope.load(capture)
            assert run.ranks == [0, 1]
            (note,) = [note for note in run.notes if note.code == "rank_unreadable"]
            assert note.params["rank"] == 2
            assert str(bad) in note.file
            assert "no trace events" in note.sentence()
        assert _slices(run) == slices_in(capture / "rank0.json") + slices_in(capture / "rank1.json")

    def test_one_that_was_mended_is_read_and_its_note_goes(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        write_unreadable(capture / "rank1.json", 1, world_size=2)
        assert stepscope.load(capture).ranks == [0]
        write_rank(capture / "rank1.json", 1, world_size=2)
        run = stepscope.load(capture)
        assert run.ranks == [0, 1]
        assert [part.rank for part in run.ingested.read] == [1]
        assert "rank_unreadable" not in {note.code for note in run.notes}

    def test_one_that_becomes_unreadable_is_noted(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        assert stepscope.load(capture).ranks == [0, 1]
        write_unreadable(capture / "rank1.json", 1, world_size=2)
        run = stepscope.load(capture)
        assert run.ranks == [0]
        assert [note.params["rank"] for note in run.notes if note.code == "rank_unreadable"] == [1]

    def test_none_that_can_be_read_is_an_error(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        for rank in (0, 1):
            write_unreadable(capture / f"rank{rank}.json", rank, world_size=2)
        for _ in range(2):
            with pytest.raises(UnreadableInputError, match="no trace events") as caught:
                stepscope.load(capture)
            assert caught.value.exit_code == 3

    def test_a_file_that_cannot_be_read_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableInputError, match="no trace events"):
            stepscope.load(write_unreadable(tmp_path / "trace.json", 0))


class TestUnreadable:
    @pytest.mark.parametrize(
        ("content", "code"),
        [
            (b"", "empty_file"),
            (b"hello", "unknown_format"),
            (b"\x00" * 5000, "unknown_format"),
            (gzip.compress(b"", mtime=0), "empty_file"),
            (b"\x1f\x8b\x08", "empty_file"),
            (b'{"a": 1}', "unknown_format"),
            (b'{"traceEvents": []}', "no_events"),
            (b"[]", "no_events"),
        ],
    )
    def test_the_error_says_what_is_wrong_with_a_file(self, tmp_path: Path, content: bytes, code: str) -> None:
        file = tmp_path / "trace.json"
        file.write_bytes(content)
        with pytest.raises(UnreadableInputError) as caught:
            stepscope.load(file)
        assert caught.value.code == code
        assert str(file) in caught.value.message()

    def test_a_directory_without_traces_is_a_clear_error(self, tmp_path: Path) -> None:
        (tmp_path / "capture").mkdir()
        (tmp_path / "capture" / "readme.txt").write_text("nothing here")
        with pytest.raises(UnreadableInputError) as caught:
            stepscope.load(tmp_path / "capture")
        assert caught.value.code == "nothing_to_read"

    def test_what_does_not_exist_is_a_clear_error(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableInputError) as caught:
            stepscope.load(tmp_path / "nowhere")
        assert caught.value.code == "no_such_path"


class TestCalling:
    def test_progress_grows_to_the_size_of_what_is_read(self, tmp_path: Path) -> None:
        trace = write_rank(tmp_path / "trace.json")
        told: list[tuple[int, int]] = []
        stepscope.load(trace, progress=lambda done, total: told.append((done, total)))
        size = trace.stat().st_size
        assert told[-1] == (size, size)
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        told.clear()
        stepscope.load(trace, progress=lambda done, total: told.append((done, total)))
        assert told == []

    def test_another_engine_gives_the_same_run(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        with ThreadPoolExecutor(2) as executor:
            run = stepscope.load(capture, executor=executor)
        assert _slices(run) == slices_in(capture / "rank0.json") + slices_in(capture / "rank1.json")

    def test_a_script_without_a_main_guard_may_load_several_ranks(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        script = tmp_path / "script.py"
        script.write_text(
            "import sys, stepscope\n"
            "print('once', flush=True)\n"
            "run = stepscope.load(sys.argv[1])\n"
            "print(run.ranks, __file__ == sys.argv[0])\n"
        )
        result = subprocess.run(
            [sys.executable, script, capture], capture_output=True, text=True, check=False, timeout=HANGS_AFTER_S
        )
        assert (result.returncode, result.stdout) == (0, "once\n[0, 1] True\n"), result.stderr
        assert result.stderr == ""

    def test_it_works_without_a_standard_input(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        script = "import sys, stepscope; assert sys.stdin is None; print(stepscope.load(sys.argv[1]).ranks)"
        result = subprocess.run(
            [sys.executable, "-c", script, capture],
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS_AFTER_S,
            preexec_fn=lambda: os.close(0),
        )
        assert (result.returncode, result.stdout) == (0, "[0, 1]\n"), result.stderr

    def test_a_run_says_what_it_is(self, tmp_path: Path) -> None:
        trace = write_rank(tmp_path / "trace.json", rank=4)
        run = stepscope.load(str(trace))
        count = sum(slices_in(trace).values())
        assert repr(run) == f"<Run 'trace': 1 ranks, {count} slices>"
        assert run.describe() == {
            "path": str(trace),
            "paths": [str(trace)],
            "window": "trace",
            "windows": ["trace"],
            "ranks": [4],
            "readers": ["kineto"],
            "schema_version": SCHEMA_VERSION,
        }


def test_ranks_in_one_directory_are_told_apart_by_their_files(tmp_path: Path, shared_data: Path) -> None:
    capture = tmp_path / "profiler"
    shutil.copytree(shared_data / "mindinsight/profiler", capture, copy_function=shutil.copyfile)
    run = stepscope.load(capture)
    assert [part.rank for part in run.store.manifest.parts] == [0, 1, 10]
    before = {part.rank: part.fingerprint for part in run.store.manifest.parts}
    changed = capture / "step_trace_raw_10_detail_time.csv"
    changed.write_text(changed.read_text() + "\n")
    after = {part.rank: part.fingerprint for part in stepscope.load(capture).store.manifest.parts}
    assert {rank for rank in after if after[rank] != before[rank]} == {10}
