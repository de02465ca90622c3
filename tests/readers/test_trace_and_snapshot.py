"""A trace and a memory snapshot of one process are one rank, however they are given."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest

from readers.memory_snapshot_builder import annotation, block, event, segment
from stepscope import load
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.engine.ingest import ingest
from stepscope.readers.discovery.several_paths import windows_of_all
from stepscope.readers.discovery.windows import windows
from support.traces import annotation as host_mark
from support.traces import call, document, kernel, operator
from support.traces import write as write_trace

A = 0x7F00_0000_0000


def trace(path: Path) -> Path:
    events = [
        host_mark("ProfilerStep#3", 0, 1_000_000),
        operator("aten::mm", 100_000, 50_000),
        call("cudaLaunchKernel", 110_000, 10_000, 1),
        kernel("gemm", 200_000, 300_000, 1),
    ]
    return write_trace(path, document(events))


def snapshot(path: Path, size: int = 1024) -> Path:
    """Two blocks, one allocated before the trace's step and one in it; marks of its own."""
    made = {
        "segments": [segment(A, 2 << 20, [block(A, size), block(A + size, 512)])],
        "device_traces": [[event("alloc", A, size, -100), event("alloc", A + size, 512, 300)]],
        "external_annotations": [
            annotation("START", "ProfilerStep#2", -200),
            annotation("END", "ProfilerStep#2", -1),
            annotation("START", "ProfilerStep#3", 0),
            annotation("END", "ProfilerStep#3", 1_000),
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(made, 4))
    return path


PAIRS = [
    ("job.json", "job.snapshot.pickle"),
    ("job.pt.trace.json", "job.pickle"),
    ("job.json", "job_memory_snapshot.pickle"),
    ("trace_rank1.json", "snapshot_rank1.pickle"),
    ("node7_4242.1700000000000.pt.trace.json", "node7_4242.pickle"),
]


@pytest.mark.parametrize(("trace_name", "snapshot_name"), PAIRS)
def test_files_of_one_process_are_one_rank_of_one_window(tmp_path: Path, trace_name: str, snapshot_name: str) -> None:
    files = (trace(tmp_path / trace_name), snapshot(tmp_path / snapshot_name))
    for found in (windows(tmp_path), windows_of_all(files)):
        ((source,),) = [window.sources for window in found]
        assert source.files == files
        assert source.rank == (1 if "rank1" in trace_name else 0)


def test_files_of_other_processes_stay_apart(tmp_path: Path) -> None:
    trace(tmp_path / "one.json")
    snapshot(tmp_path / "two.pickle")
    assert len(windows(tmp_path)) == 2
    trace(tmp_path / "ranks" / "job_rank0.json")
    snapshot(tmp_path / "ranks" / "job_rank1.pickle")
    assert all(len(source.files) == 1 for window in windows(tmp_path / "ranks") for source in window.sources)


def test_names_in_different_directories_count_only_where_the_files_were_given(tmp_path: Path) -> None:
    files = trace(tmp_path / "a" / "job.json"), snapshot(tmp_path / "b" / "job.pickle")
    assert len(windows(tmp_path)) == 2
    ((source,),) = [window.sources for window in windows_of_all(files)]
    assert source.files == files


def test_the_trace_tells_steps_and_the_snapshot_memory(tmp_path: Path) -> None:
    trace(tmp_path / "job.json")
    snapshot(tmp_path / "job.snapshot.pickle")
    run = load(tmp_path, progress=False)
    assert run.ranks == [0]
    assert run.sql("SELECT step FROM steps").rows() == [(3,)]
    assert run.sql("SELECT count(*) FROM slices WHERE kind = 'step'").rows() == [(1,)]
    assert run.sql("SELECT bytes, alloc_ns FROM allocations ORDER BY alloc_ns").rows() == [
        (1024, -100_000),
        (512, 300_000),
    ]
    assert run.sql("SELECT allocations_overwritten, host_memory_relative FROM ranks").rows() == [(True, True)]
    assert run.steps()["step"].to_list() == [3]


def test_a_changed_snapshot_is_read_again(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    trace(capture / "job.json")
    snapshot(capture / "job.snapshot.pickle")
    assert len(ingest(capture).read) == 1
    assert ingest(capture).read == []
    snapshot(capture / "job.snapshot.pickle", size=2048)
    assert len(ingest(capture).read) == 1
    sizes = load(capture, progress=False).sql("SELECT max(bytes) FROM allocations").rows()
    assert sizes == [(2048,)]


def test_a_broken_snapshot_leaves_the_trace_and_is_named(tmp_path: Path) -> None:
    trace(tmp_path / "job.json")
    whole = snapshot(tmp_path / "job.snapshot.pickle").read_bytes()
    (tmp_path / "job.snapshot.pickle").write_bytes(whole[: len(whole) // 2])
    run = load(tmp_path, progress=False)
    assert run.sql("SELECT count(*) FROM slices WHERE kind = 'kernel'").rows() == [(1,)]
    (note,) = [note for note in run.notes if note.code == "snapshot_unreadable"]
    assert "job.snapshot.pickle" in note.sentence("en") and "job.snapshot.pickle" in note.sentence("zh")


def test_real_files_of_one_process_answer_questions_of_both(shared_data: Path, tmp_path: Path) -> None:
    together = tmp_path / "together"
    together.mkdir()
    files = [
        shared_data / "kineto" / "gpt_fp32_snap.json.gz",
        shared_data / "memory" / "gpt_fp32_snap.snapshot.pickle",
    ]
    for file in files:
        shutil.copy(file, together / file.name)
    for given in (together, files):
        run = load(given, progress=False)
        assert (run.ranks, len(run.windows)) == ([0], 1)
        assert run.steps()["step"].to_list() == [2, 3, 4]
        # What each file alone holds: the snapshot's blocks of the GPU, the trace's of the host.
        counts = run.sql("SELECT device, count(*) FROM allocations GROUP BY device ORDER BY device").rows()
        assert dict(counts) == {"cpu": 27, "cuda:0": 1932}
        lost = "SELECT count(*) FROM allocations WHERE stack NOT IN (SELECT stack FROM stacks)"
        assert run.sql(lost).rows() == [(0,)]
        assert run.memory().peak_bytes > 0


def test_the_last_mark_of_a_real_snapshot_is_20_us_long_and_no_step(shared_data: Path) -> None:
    run = load(shared_data / "memory" / "gpt_fp32_snap.snapshot.pickle", progress=False)
    assert step_marks(run.store, 0).filter("incomplete")["step"].to_list() == [6]
