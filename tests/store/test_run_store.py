"""The store: outside the user's data, whole or absent, kept as long as it is true, and rebuilt when it is not."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import stepscope
from stepscope.engine import ingest as engine_ingest
from stepscope.engine import merge as engine_merge
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.run import Run
from stepscope.store import rank_writer, schema
from stepscope.store.integrity import read_document, save_document
from stepscope.store.run_store import open_store
from support.limits import HANGS_AFTER_S
from support.mini_trace import slices_in, write_capture, write_rank

_LOAD = """
import sys, stepscope.run
print("ready", flush=True)
sys.stdin.readline()
stepscope.load(sys.argv[1], store=sys.argv[2])
"""


def _tables(run: Run) -> dict[str, pl.DataFrame]:
    found = {name: run.table(name).collect() for name in schema.TABLES}
    found["groups"] = found["groups"].sort(pl.col("group").cast(pl.String))
    return found


def _assert_same(run: Run, expected: dict[str, pl.DataFrame]) -> None:
    for name, frame in _tables(run).items():
        assert_frame_equal(frame, expected[name])


def _slices(run: Run) -> Counter[tuple[str, int, int]]:
    frame = run.table("slices").select(pl.col("name").cast(pl.String), "start_ns", "dur_ns").collect()
    return Counter(frame.iter_rows())


def _rank_directories(run: Run) -> dict[int, str]:
    """Directory of each rank's large tables, with its number on disk, which is new if the directory is."""
    places = {part.rank: next(iter(part.tables["slices"])).split("/")[0] for part in run.store.manifest.parts}
    return {rank: f"{name} {(run.store.directory / name).stat().st_ino}" for rank, name in places.items()}


def _state(directory: Path) -> dict[str, tuple[bytes, int]]:
    files = [file for file in directory.rglob("*") if file.is_file()]
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_capture(tmp_path / "capture", [0])


class TestWhereTheStoreLies:
    def test_nothing_is_written_into_the_capture(self, capture: Path, tmp_path: Path) -> None:
        before = _state(capture)
        run = stepscope.load(capture, store=tmp_path / "store")
        run.sql("SELECT count(*) FROM slices")
        stepscope.load(capture, store=tmp_path / "store")
        assert _state(capture) == before
        assert not run.store.directory.is_relative_to(capture)

    def test_the_cache_directory_is_used_unless_told_otherwise(
        self, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
        assert stepscope.load(capture).store.directory.is_relative_to(tmp_path / "cache")

    @pytest.mark.parametrize("place", [".", "store", "a/b/../c"])
    def test_a_store_inside_the_capture_is_refused(self, capture: Path, place: str) -> None:
        before = _state(capture)
        with pytest.raises(UsageError, match="inside the capture"):
            stepscope.load(capture, store=capture / place)
        assert _state(capture) == before

    def test_a_link_into_the_capture_is_refused(self, capture: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(capture)
        with pytest.raises(UsageError, match="inside the capture"):
            stepscope.load(capture, store=tmp_path / "link" / "store")
        assert [file.name for file in capture.iterdir()] == ["rank0.json"]

    def test_captures_of_one_name_do_not_share_a_store(self, tmp_path: Path) -> None:
        first = write_rank(tmp_path / "a" / "trace.json", steps=1)
        second = write_rank(tmp_path / "b" / "trace.json", steps=3)
        stepscope.load(first, store=tmp_path / "store")
        stepscope.load(second, store=tmp_path / "store")
        run = stepscope.load(first, store=tmp_path / "store")
        assert run.ingested.read == []
        assert _slices(run) == slices_in(first)

    def test_a_store_that_cannot_be_written_is_a_clear_error(self, capture: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UnreadableInputError, match="cannot be written") as caught:
            stepscope.load(capture, store=tmp_path / "file" / "store")
        assert caught.value.exit_code == 3


class TestReopening:
    def test_a_known_capture_is_not_read_again(self, capture: Path, tmp_path: Path) -> None:
        first = stepscope.load(capture, store=tmp_path / "store")
        before = _state(first.store.directory)
        again = stepscope.load(capture, store=tmp_path / "store")
        assert [part.rank for part in first.ingested.read] == [0]
        assert again.ingested.read == []
        assert _state(again.store.directory) == before

    def test_another_spelling_of_the_path_is_the_same_capture(
        self, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stepscope.load(capture, store=tmp_path / "store")
        (tmp_path / "link").symlink_to(capture)
        monkeypatch.chdir(tmp_path)
        for spelling in ("capture", "./capture/", "capture/../capture", "link"):
            assert stepscope.load(spelling, store=tmp_path / "store").ingested.read == [], spelling

    def test_what_is_stored_is_what_the_file_says(self, capture: Path, tmp_path: Path) -> None:
        run = stepscope.load(capture, store=tmp_path / "store")
        assert _slices(run) == slices_in(capture / "rank0.json")

    def test_a_file_rewritten_with_the_same_size_and_time_is_noticed(self, capture: Path, tmp_path: Path) -> None:
        file = capture / "rank0.json"
        stepscope.load(capture, store=tmp_path / "store")
        state = file.stat()
        file.write_bytes(file.read_bytes().replace(b"aten::mm", b"aten::bm"))
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
        assert file.stat().st_mtime_ns == state.st_mtime_ns
        run = stepscope.load(capture, store=tmp_path / "store")
        assert "aten::bm" in run.table("slices").collect()["name"].cast(pl.String).to_list()

    def test_slice_ids_stay_when_all_is_read_again(self, capture: Path, tmp_path: Path) -> None:
        columns = ["slice", "start_ns", "name"]
        first = stepscope.load(capture, store=tmp_path / "store").table("slices").select(columns).collect()
        done = engine_ingest.ingest(capture, store=tmp_path / "store", again=True)
        assert [part.rank for part in done.read] == [0]
        assert_frame_equal(Run(done).table("slices").select(columns).collect(), first)

    def test_slice_ids_are_the_numbers_of_the_events_in_their_file(self, capture: Path, tmp_path: Path) -> None:
        run = stepscope.load(capture, store=tmp_path / "store")
        events = json.loads((capture / "rank0.json").read_text())["traceEvents"]
        found = run.table("slices").select("slice", pl.col("name").cast(pl.String)).collect()
        assert dict(found.iter_rows()) == {
            place: event["name"] for place, event in enumerate(events) if event["ph"] == "X"
        }


class TestRanks:
    @pytest.fixture
    def three(self, tmp_path: Path) -> Path:
        return write_capture(tmp_path / "three", [0, 1, 2])

    def test_a_changed_file_makes_only_its_rank_be_read(self, three: Path, tmp_path: Path) -> None:
        before = stepscope.load(three, store=tmp_path / "store")
        places = _rank_directories(before)
        write_rank(three / "rank1.json", 1, world_size=3, steps=4)
        after = stepscope.load(three, store=tmp_path / "store")
        assert [part.rank for part in after.ingested.read] == [1]
        changed = {rank for rank, place in _rank_directories(after).items() if places[rank] != place}
        assert changed == {1}
        expected = sum((slices_in(three / f"rank{rank}.json") for rank in range(3)), Counter())
        assert _slices(after) == expected
        _assert_same(after, _tables(stepscope.load(three, store=tmp_path / "clean")))
        # Who still holds the run of before can go on reading it.
        assert before.table("slices").collect().height == before.store.manifest.rows("slices")
        assert before.table("ranks").collect()["rank"].to_list() == [0, 1, 2]

    def test_an_added_rank_is_read_alone_and_a_removed_one_disappears(self, three: Path, tmp_path: Path) -> None:
        (three / "rank2.json").rename(tmp_path / "aside.json")
        first = stepscope.load(three, store=tmp_path / "store")
        assert first.ranks == [0, 1]
        places = _rank_directories(first)
        (tmp_path / "aside.json").rename(three / "rank2.json")
        second = stepscope.load(three, store=tmp_path / "store")
        assert [part.rank for part in second.ingested.read] == [2]
        assert {rank: place for rank, place in _rank_directories(second).items() if rank != 2} == places
        (three / "rank0.json").unlink()
        third = stepscope.load(three, store=tmp_path / "store")
        assert third.ingested.read == []
        assert third.ranks == [1, 2]
        for name, table in schema.TABLES.items():
            if "rank" in table.schema:
                assert 0 not in third.table(name).collect()["rank"].to_list(), name

    def test_forty_small_ranks_make_few_files(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "forty", range(40), steps=1, operators=1)
        run = stepscope.load(capture, store=tmp_path / "store")
        assert run.ranks == list(range(40))
        files = [file for file in run.store.directory.rglob("*") if file.is_file()]
        per_table = Counter(file.stem.rsplit("-", 1)[0] for file in files if file.suffix == ".parquet")
        filled = {name for name in schema.TABLES if run.store.manifest.rows(name)}
        assert {"slices", "details", "links", "counters", "ranks", "tracks", "steps", "collectives"} <= filled
        assert per_table == {name: 40 if schema.TABLES[name].per_rank else 1 for name in filled}
        assert len(files) == sum(per_table.values()) + 2  # the manifest and the lock


class TestDamage:
    def _damage(self, directory: Path, kind: str) -> None:
        manifest = directory / "manifest.json"
        content = read_document(manifest)
        slices = next(directory.glob("rank-*/slices-0.parquet"))
        merged = next(directory.glob("merged-*/ranks.parquet"))
        match kind:
            case "another schema version":
                save_document(manifest, {**content, "schema_version": content["schema_version"] - 1})
            case "missing table":
                slices.unlink()
            case "truncated table":
                os.truncate(slices, slices.stat().st_size - 1)
            case "missing merged table":
                merged.unlink()
            case "truncated merged table":
                os.truncate(merged, 10)
            case "missing manifest":
                manifest.unlink()
            case "truncated manifest":
                os.truncate(manifest, manifest.stat().st_size // 2)
            case "empty manifest":
                manifest.write_text("")
            case "manifest of something else":
                manifest.write_text('["a", 1]')
            case "manifest without a field":
                save_document(manifest, {key: content[key] for key in content if key != "parts"})
            case "manifest of bytes":
                manifest.write_bytes(b"\xff\xfe\x00")

    @pytest.mark.parametrize(
        "kind",
        [
            "another schema version",
            "missing table",
            "truncated table",
            "missing merged table",
            "truncated merged table",
            "missing manifest",
            "truncated manifest",
            "empty manifest",
            "manifest of something else",
            "manifest without a field",
            "manifest of bytes",
        ],
    )
    def test_a_damaged_store_is_rebuilt(self, capture: Path, tmp_path: Path, kind: str) -> None:
        clean = stepscope.load(capture, store=tmp_path / "store")
        expected = _tables(clean)
        self._damage(clean.store.directory, kind)
        run = stepscope.load(capture, store=tmp_path / "store")
        assert [part.rank for part in run.ingested.read] == [0]
        _assert_same(run, expected)
        assert stepscope.load(capture, store=tmp_path / "store").ingested.read == []

    def test_the_manifest_tells_the_schema_version_of_today(self, capture: Path, tmp_path: Path) -> None:
        run = stepscope.load(capture, store=tmp_path / "store")
        found = read_document(run.store.directory / "manifest.json")
        assert found["schema_version"] == schema.SCHEMA_VERSION

    def test_what_killed_processes_left_is_swept_up(self, capture: Path, tmp_path: Path) -> None:
        run = stepscope.load(capture, store=tmp_path / "store")
        directory = run.store.directory
        (directory / "tmp-1-dead").mkdir()
        (directory / "tmp-1-dead" / "slices-0.parquet").write_bytes(b"half")
        (directory / "tmp-dead.json").write_text("{")
        replaced = directory / "rank-0-0000"
        replaced.mkdir()
        os.utime(replaced, (time.time() - 7200,) * 2)
        write_rank(capture / "rank0.json", steps=3)
        stepscope.load(capture, store=tmp_path / "store")
        assert not list(directory.glob("tmp-*"))
        assert not replaced.exists()


class TestKill:
    def test_a_kill_at_any_moment_leaves_a_whole_run_or_none(self, tmp_path: Path) -> None:
        trace = write_rank(tmp_path / "trace.json", steps=60, operators=250)
        assert trace.stat().st_size > 5_000_000
        began = time.perf_counter()
        clean = stepscope.load(trace, store=tmp_path / "clean")
        duration = time.perf_counter() - began
        expected = _tables(clean)
        place = tmp_path / "store" / clean.store.directory.relative_to(tmp_path / "clean")
        chance = random.Random(7)
        unfinished = 0
        waiting = _loader(trace, tmp_path / "store")
        for _ in range(15):
            process, waiting = waiting, _loader(trace, tmp_path / "store")  # one gets ready while the other is at work
            with process:
                _go(process)
                time.sleep(duration * chance.random() ** 2)
                process.kill()
            found = open_store(place)
            unfinished += found is None
            run = stepscope.load(trace, store=tmp_path / "store")
            assert bool(run.ingested.read) == (found is None)
            _assert_same(run, expected)
            assert not list(place.glob("tmp-*"))
            (place / "manifest.json").unlink()  # the next one begins again, among the rubbish
        with waiting:
            waiting.kill()
        assert unfinished >= 3, "too few kills fell into the reading"

    def test_a_kill_while_several_ranks_are_read_leaves_no_process_behind(self, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "two", [0, 1], steps=20, operators=250)
        expected = _tables(stepscope.load(capture, store=tmp_path / "clean"))
        process = _loader(capture, tmp_path / "store")
        with process:
            _go(process)
            deadline = time.monotonic() + HANGS_AFTER_S
            while not list((tmp_path / "store").rglob("tmp-*")) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.kill()
        try:
            _assert_same(stepscope.load(capture, store=tmp_path / "store"), expected)
            deadline = time.monotonic() + HANGS_AFTER_S
            while _members_of_group(process.pid) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert _members_of_group(process.pid) == []
            again = stepscope.load(capture, store=tmp_path / "store")
            _assert_same(again, expected)
        finally:
            if _members_of_group(process.pid):
                os.killpg(process.pid, signal.SIGKILL)


def _loader(capture: Path, store: Path) -> subprocess.Popen[bytes]:
    """A process that will load a capture when told to; it and its children are a group of their own."""
    command: list[str | Path] = [sys.executable, "-c", _LOAD, capture, store]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def _go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    process.stdin.write(b"go\n")
    process.stdin.flush()


def _members_of_group(group: int) -> list[str]:
    """Living processes of a process group, by what /proc says."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, owner = entry.read_text().rsplit(")", 1)[1].split()[:3]
            if int(owner) == group and state != "Z":
                found.append((entry.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        except OSError:
            continue
    return found


def _small_files_only(limit: int) -> None:
    """Writing more than ``limit`` bytes into one file fails, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


class TestFullDisk:
    @pytest.mark.parametrize(("ranks", "limit"), [(1, 1000), (1, 10_000), (2, 10_000)])
    def test_it_is_a_clear_error_and_the_next_call_succeeds(self, tmp_path: Path, ranks: int, limit: int) -> None:
        capture = write_capture(tmp_path / "capture", range(ranks), operators=250)
        result = subprocess.run(
            [sys.executable, "-m", "stepscope", "ingest", capture, "--store", tmp_path / "store"],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: _small_files_only(limit),
        )
        assert result.returncode == 3, result.stderr
        assert "cannot be written" in result.stderr
        assert "Traceback" not in result.stderr
        assert not list((tmp_path / "store").rglob("manifest.json"))
        assert not list((tmp_path / "store").rglob("tmp-*"))
        run = stepscope.load(capture, store=tmp_path / "store")
        expected = sum((slices_in(file) for file in capture.iterdir()), Counter())
        assert _slices(run) == expected

    @pytest.mark.parametrize("stage", ["rank", "merge", "manifest"])
    def test_no_stage_of_writing_leaves_half_a_run(
        self, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
    ) -> None:
        def full(*_: Any, **__: Any) -> None:
            raise OSError(28, "No space left on device")

        target = {
            "rank": (rank_writer, "write"),
            "merge": (engine_merge, "write"),
            "manifest": (os, "fsync"),
        }[stage]
        with monkeypatch.context() as patch:
            patch.setattr(*target, full)
            with pytest.raises(UnreadableInputError, match="No space left on device") as caught:
                stepscope.load(capture, store=tmp_path / "store")
        assert caught.value.code == "cannot_write_store"
        left = [file.name for file in (tmp_path / "store").rglob("*") if file.is_file()]
        assert left == ["lock"], "the message promises that nothing half-written is left"
        assert _slices(stepscope.load(capture, store=tmp_path / "store")) == slices_in(capture / "rank0.json")

    def test_the_run_of_before_survives_a_failed_update(
        self, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = stepscope.load(capture, store=tmp_path / "store")
        expected = _tables(before)
        write_rank(capture / "rank0.json", steps=5)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            with pytest.raises(UnreadableInputError):
                stepscope.load(capture, store=tmp_path / "store")
        _assert_same(before, expected)
        assert open_store(before.store.directory) is not None


class TestTwoAtOnce:
    @pytest.mark.parametrize(("processes", "ranks"), [(2, 2), (4, 1)])
    def test_processes_that_ingest_one_capture_at_once_all_succeed(
        self, tmp_path: Path, processes: int, ranks: int
    ) -> None:
        capture = write_capture(tmp_path / "capture", range(ranks), steps=20, operators=100)
        script = (
            "import sys, stepscope.run\n"
            "sys.stdin.readline()\n"
            "run = stepscope.load(sys.argv[1], store=sys.argv[2])\n"
            "print(len(run.ingested.read), run.table('slices').select('slice', 'start_ns', 'dur_ns').collect()"
            ".hash_rows(seed=0).sort().hash(seed=0).sum(), run.table('ranks').collect().height)\n"
        )
        started = [
            subprocess.Popen(
                [sys.executable, "-c", script, capture, tmp_path / "store"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(processes)
        ]
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [process.communicate() for process in started]
        assert [process.returncode for process in started] == [0] * processes, results
        read, contents, heights = zip(*(out.split() for out, _ in results), strict=True)
        assert sorted(map(int, read)) == [0] * (processes - 1) + [ranks]
        assert len(set(contents)) == 1
        assert set(heights) == {str(ranks)}
        run = stepscope.load(capture, store=tmp_path / "store")
        assert run.ingested.read == []
        _assert_same(run, _tables(stepscope.load(capture, store=tmp_path / "clean")))
