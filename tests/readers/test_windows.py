"""Which captures of several ranks belong to one window, by what real writers call their files and directories."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.readers.discovery.windows import windows
from support.traces import annotation, complete, document, operator, write

NOON = 1_794_762_097_927_062_025  # time.time_ns(), as torch's handler for TensorBoard puts it into names
SECOND = 10**9


def trace(rank: int | None = None, world: int | None = None, **metadata: Any) -> dict[str, Any]:
    stated = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": world}}
    return document([annotation("ProfilerStep#1", 1_000, 500), operator("aten::add", 1_100, 10)], **metadata, **stated)


def ascend(path: Path, rank: int | None) -> None:
    """The least that makes a directory a rank's capture."""
    write(path / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", [])
    if rank is not None:
        write(path / f"profiler_info_{rank}.json", {"rank_id": rank})


def seen(path: Path) -> list[list[tuple[int | None, str]]]:
    """Rank and path of each source, per window, oldest first."""
    return [
        [(source.rank, str(source.path.relative_to(path))) for source in window.sources] for window in windows(path)
    ]


def codes(path: Path) -> list[list[str]]:
    return [[note.code for note in window.notes.all()] for window in windows(path)]


def test_cycles_of_one_process_are_windows_and_no_ranks(tmp_path: Path) -> None:
    for cycle in range(3):
        write(tmp_path / f"vm_15175.{NOON + cycle * SECOND}.pt.trace.json", trace())
    assert [len(window.sources) for window in windows(tmp_path)] == [1, 1, 1]
    assert [window.sources[0].rank for window in windows(tmp_path)] == [0, 0, 0]
    assert codes(tmp_path) == [[], [], []]


def test_cycles_of_two_processes_meet_though_their_clocks_differ(tmp_path: Path) -> None:
    late = {0: 0, 1: SECOND // 2}  # rank 1 writes later, in the second cycle earlier
    for rank in (0, 1):
        for cycle, sign in enumerate((1, -1)):
            span = NOON + 3 * cycle * SECOND + sign * late[rank]
            write(tmp_path / f"vm_{18736 + rank}.{span}.pt.trace.json", trace(rank, 2))
    assert [[rank for rank, _ in window] for window in seen(tmp_path)] == [[0, 1], [0, 1]]
    firsts = [window[1][1] for window in seen(tmp_path)]
    assert firsts == [
        f"vm_18737.{NOON + SECOND // 2}.pt.trace.json",
        f"vm_18737.{NOON + 5 * SECOND // 2}.pt.trace.json",
    ]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("trace_rank{rank}_step{part}.json", (9, 10, 200)),
        ("step{part}_rank{rank}.json", (9, 10, 200)),
        ("trace_rank_{rank}_epoch_{part}.json", (3, 12)),
        ("1758000000.12-TP-{rank}-{part}.trace.json", ("DECODE", "EXTEND")),
        ("rank_{rank}/step_{part}.json", (9, 10, 200)),
        ("iteration_{part}/rank{rank}_trace.json", (10, 20)),
    ],
)
def test_names_tell_which_captures_belong_together(name: str, parts: tuple[Any, ...], tmp_path: Path) -> None:
    for rank in (0, 1):
        for part in parts:
            write(tmp_path / name.format(rank=rank, part=part), trace(rank, 2))
    expected = [[(rank, name.format(rank=rank, part=part)) for rank in (0, 1)] for part in parts]
    assert sorted(seen(tmp_path)) == sorted(expected)


def test_directories_of_ranks_with_cycles_each(tmp_path: Path) -> None:
    for rank in (0, 1):
        for cycle in range(3):
            name = f"host_{100 + rank}.{NOON + cycle * 10 * SECOND + rank * 1000}.pt.trace.json"
            write(tmp_path / f"rank{rank}" / name, trace(rank, 2))
    assert [[rank for rank, _ in window] for window in seen(tmp_path)] == [[0, 1]] * 3


def test_a_rank_that_missed_a_window_joins_the_one_of_its_time(tmp_path: Path) -> None:
    ascend(tmp_path / "host1_101_20250109075959871_ascend_pt", 1)
    ascend(tmp_path / "host1_100_20250109080959870_ascend_pt", 0)
    ascend(tmp_path / "host1_101_20250109081000071_ascend_pt", 1)  # 201 ms later, in the next minute
    assert [[rank for rank, _ in window] for window in seen(tmp_path)] == [[1], [0, 1]]


def test_without_times_the_newest_captures_are_put_together_and_a_note_says_so(tmp_path: Path) -> None:
    for name, rank in (("a1", 0), ("b2", 0), ("c", 1)):
        write(tmp_path / f"{name}.json", trace(rank, 2))
    assert seen(tmp_path) == [[(0, "a1.json")], [(0, "b2.json"), (1, "c.json")]]
    assert codes(tmp_path) == [["windows_guessed"], ["windows_guessed"]]


@pytest.mark.parametrize("place", ["node{node}", "device_{node}", "{node}"])
def test_directories_that_differ_in_a_number_and_hold_other_ranks_are_one_job(place: str, tmp_path: Path) -> None:
    for rank in range(4):
        ascend(tmp_path / place.format(node=rank // 2) / f"h_{rank}_2025010907480380{rank}_ascend_pt", rank)
    assert [[rank for rank, _ in window] for window in seen(tmp_path)] == [[0, 1, 2, 3]]


def test_directories_that_hold_the_same_ranks_are_jobs_of_their_own(tmp_path: Path) -> None:
    for run in (1, 2):
        for rank in (0, 1):
            write(tmp_path / f"run{run}" / f"{'ab'[rank]}.json", trace(rank, 2))
    assert sorted(seen(tmp_path)) == [[(0, f"run{run}/a.json"), (1, f"run{run}/b.json")] for run in (1, 2)]


def test_windows_of_dynamic_profiling_join_by_their_steps(tmp_path: Path) -> None:
    for rank in (0, 1):
        for start, stop, time in ((2, 5, "074803871"), (10, 12, "074943871")):
            folder = tmp_path / f"rank{rank}_start{start}_stop{stop}"
            ascend(folder / f"host_{100 + rank}_20250109{time}_ascend_ms", None)
    assert [[Path(path).parent.name for _, path in window] for window in seen(tmp_path)] == [
        ["rank0_start2_stop5", "rank1_start2_stop5"],
        ["rank0_start10_stop12", "rank1_start10_stop12"],
    ]


def test_ranks_of_a_job_that_are_not_here_are_noted(tmp_path: Path) -> None:
    for rank in (0, 3):
        write(tmp_path / f"rank{rank}.json", trace(rank, 6))
    (window,) = windows(tmp_path)
    (note,) = window.notes.all()
    assert (note.code, note.params) == ("ranks_missing", {"present": 2, "world": 6})


@pytest.mark.parametrize("broken", [b"", b'{"schemaVersion": 1, "dist', b"\x1f\x8b\x08\x00damaged"])
def test_a_broken_file_called_like_the_others_is_a_rank_that_cannot_be_read(broken: bytes, tmp_path: Path) -> None:
    write(tmp_path / "trace_rank0.json", trace(0, 2))
    (tmp_path / "trace_rank1.json").write_bytes(broken)
    (tmp_path / "rank1_metrics.json").write_bytes(b"{}")
    assert seen(tmp_path) == [[(0, "trace_rank0.json"), (1, "trace_rank1.json")]]


@pytest.mark.parametrize("broken", [b"", b"\x1f\x8b\x08\x00damaged"])
def test_a_broken_file_of_which_nothing_tells_the_rank_is_a_window_beside_the_job(
    broken: bytes, tmp_path: Path
) -> None:
    capture = tmp_path / "capture"
    for pid in (400, 401):
        write(capture / f"vm_{pid}.pt.trace.json", at(NOON + pid, pid=pid))
    (capture / "vm_402.pt.trace.json").write_bytes(broken)
    job = [(0, "vm_400.pt.trace.json"), (1, "vm_401.pt.trace.json")]
    assert seen(capture) == [[(0, "vm_402.pt.trace.json")], job]
    assert len(stepscope.load(capture, store=tmp_path / "store", progress=False).store.ranks) == 2


def test_the_rank_is_found_behind_long_metadata_and_long_lists_of_ranks(tmp_path: Path) -> None:
    groups = [{"pg_name": str(number), "ranks": list(range(4096))} for number in range(4)]
    info = {"backend": "nccl", "pg_config": groups, "rank": 37, "world_size": 4096}
    text = json.dumps({"schemaVersion": 1, "note": "x" * 80_000, "distributedInfo": info, "traceEvents": []})
    path = write(tmp_path / "trace.json", text)
    (window,) = windows(path)
    assert [(source.rank, source.world_size) for source in window.sources] == [(37, 4096)]


def test_names_of_many_threads_before_the_events_do_not_hide_whose_trace_it_is(tmp_path: Path) -> None:
    names = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "ts": 0, "args": {"name": f"thread {number}"}}
        for number in range(1_500)
    ]
    events = [*names, {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]
    path = write(tmp_path / "trace.json", json.dumps({"traceEvents": events}))
    assert len(json.dumps(names)) > 1 << 16
    (window,) = windows(path)
    assert [source.reader for source in window.sources] == ["kineto"]


def at(begin_ns: int, *, pid: int = 100, length_ns: int = 2 * SECOND, **metadata: Any) -> dict[str, Any]:
    """A trace with a window of its own, on the clock of the world."""
    mark = annotation("ProfilerStep#1", begin_ns, length_ns)
    window = complete("Trace", "PyTorch Profiler (0)", begin_ns, length_ns, pid="Spans", tid="PyTorch Profiler")
    return document([mark | {"pid": pid}, window], **metadata)


def test_runs_one_after_the_other_are_windows_and_no_ranks(tmp_path: Path) -> None:
    write(tmp_path / "vm_400.pt.trace.json", at(NOON + 13 * SECOND, pid=400))
    write(tmp_path / "vm_500.pt.trace.json", at(NOON, pid=500))
    assert seen(tmp_path) == [[(0, "vm_500.pt.trace.json")], [(0, "vm_400.pt.trace.json")]]
    assert codes(tmp_path) == [[], []]


def test_workers_recorded_at_the_same_time_are_ranks(tmp_path: Path) -> None:
    for cycle in range(2):
        for worker in (0, 1):
            begin = NOON + cycle * 10 * SECOND + worker * SECOND // 3
            write(tmp_path / f"vm_{400 + worker}.{cycle + 7}.pt.trace.json", at(begin, pid=400 + worker))
    expected = [[(rank, f"vm_{400 + rank}.{cycle + 7}.pt.trace.json") for rank in (0, 1)] for cycle in range(2)]
    assert seen(tmp_path) == expected
    assert codes(tmp_path) == [["rank_guessed"], ["rank_guessed"]]


@pytest.mark.parametrize("begins", [(NOON, NOON + 30 * SECOND), (0, 0)])
def test_two_recordings_of_one_process_are_windows(begins: tuple[int, int], tmp_path: Path) -> None:
    """Whether or not the trace tells the time of day."""
    for name, begin in zip(("fp32", "amp"), begins, strict=True):
        write(tmp_path / f"{name}.pt.trace.json", at(begin + 1000, pid=77))
    assert [[rank for rank, _ in window] for window in seen(tmp_path)] == [[0], [0]]


def test_processes_of_containers_may_have_the_same_number(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write(tmp_path / f"{name}.pt.trace.json", at(NOON, pid=1))
    assert [[rank for rank, _ in window] for window in seen(tmp_path)] == [[0, 1]]
    for name in ("first", "second"):
        write(tmp_path / f"{name}.pt.trace.json", at(NOON, pid=1, host_name="node"))
    assert [[rank for rank, _ in window] for window in seen(tmp_path)] == [[0], [0]]


def test_the_newest_window_goes_by_its_content(tmp_path: Path) -> None:
    old, new = tmp_path / "run_b.json", tmp_path / "run_a.json"
    write(new, at(NOON + 60 * SECOND))
    write(old, at(NOON))
    os.utime(old, ns=(NOON * 2, NOON * 2))  # copied later
    assert [name for window in seen(tmp_path) for _, name in window] == ["run_a.json", "run_b.json"][::-1]


def test_a_trace_without_events_is_never_the_newest(tmp_path: Path) -> None:
    write(tmp_path / f"vm_1.{NOON + 9 * SECOND}.pt.trace.json", document([], traceName="a"))
    write(tmp_path / f"vm_1.{NOON}.pt.trace.json", at(NOON))
    assert seen(tmp_path)[-1] == [(0, f"vm_1.{NOON}.pt.trace.json")]


def test_a_trace_of_marks_alone_is_never_the_newest(tmp_path: Path) -> None:
    """What a schedule writes when the loop ends as its next window begins: one step, without anything in it."""
    work = trace()
    work["baseTimeNanoseconds"] = NOON
    write(tmp_path / f"vm_1.{NOON}.pt.trace.json", work)
    write(tmp_path / f"vm_1.{NOON + 9 * SECOND}.pt.trace.json", at(NOON + 9 * SECOND))
    assert seen(tmp_path)[-1] == [(0, f"vm_1.{NOON}.pt.trace.json")]
    late = NOON + 20 * SECOND
    events = [annotation("ProfilerStep#4", late, SECOND), operator("aten::add", late + 100, 10)]
    write(tmp_path / f"vm_1.{late}.pt.trace.json", document(events))
    assert seen(tmp_path)[-1] == [(0, f"vm_1.{late}.pt.trace.json")]


def test_windows_that_differ_in_the_ending_of_their_file_have_names_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "run.json", at(NOON))
    write(tmp_path / "run.json.gz", at(NOON + 60 * SECOND))
    write(tmp_path / "other.json", at(NOON + 90 * SECOND))
    assert [window.name for window in windows(tmp_path)] == ["run.json", "run.json.gz", "other"]


def test_what_jax_writes_again_for_another_viewer_is_no_rank(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "2024_03_01_10_00_00"
    for name in ("node-a", "perfetto_trace"):
        write(folder / f"{name}.trace.json.gz" if name == "node-a" else folder / f"{name}.json.gz", jax_trace())
    assert [[(rank, Path(name).name) for rank, name in window] for window in seen(tmp_path)] == [
        [(0, "node-a.trace.json.gz")]
    ]
    (folder / "node-a.trace.json.gz").unlink()
    assert [[(rank, Path(name).name) for rank, name in window] for window in seen(tmp_path)] == [
        [(0, "perfetto_trace.json.gz")]
    ]


def test_who_hands_out_requests_is_no_newer_window_than_those_who_serve_them(tmp_path: Path) -> None:
    """As vLLM names its files: of the workers, with groups and ranks; of its front end, which writes last."""
    for cycle in range(2):
        began = NOON + 60 * SECOND * cycle
        for rank in (0, 1):
            stated = {"rank": rank, "world_size": 2, "backend": "nccl"}
            name = f"dp0_pp0_tp{rank}_dcp0_ep{rank}_rank{rank}.{began + rank}.pt.trace.json"
            write(tmp_path / name, at(began + 1000, pid=500 + rank, distributedInfo=stated))
        write(tmp_path / f"node_499.async_llm.{began + 9}.pt.trace.json", at(began + SECOND, pid=499))
    assert [[name.split(".")[0] for _, name in window] for window in seen(tmp_path)] == [
        ["node_499"],
        ["dp0_pp0_tp0_dcp0_ep0_rank0", "dp0_pp0_tp1_dcp0_ep1_rank1"],
    ] * 2


def jax_trace() -> dict[str, Any]:
    return {"traceEvents": [complete(None, "fusion", 1_000, 500)]}


def test_folders_of_tensorboard_are_runs_with_a_file_per_host(tmp_path: Path) -> None:
    """JAX: plugins/profile/<time>/<host>.trace.json.gz, and the raw file beside it."""
    for run in ("2024_03_01_10_00_00", "2024_03_01_09_00_00"):
        for host in ("node-a", "node-b"):
            folder = tmp_path / "plugins" / "profile" / run
            write(folder / f"{host}.trace.json.gz", {"traceEvents": [complete(None, "fusion", 1_000, 500)]})
            (folder / f"{host}.xplane.pb").write_bytes(b"\x0a")
    found = [[(rank, Path(name).parent.name, Path(name).name) for rank, name in window] for window in seen(tmp_path)]
    hosts = ("node-a.trace.json.gz", "node-b.trace.json.gz")
    assert found == [
        [(rank, f"2024_03_01_{hour}_00_00", name) for rank, name in enumerate(hosts)] for hour in ("09", "10")
    ]


def test_runs_of_tensorboard_are_windows_of_their_own(tmp_path: Path) -> None:
    """PyTorch: one folder per run; each holds the captures of its workers."""
    for place, run in enumerate(("baseline", "tuned")):
        begin = NOON + place * 3600 * SECOND
        for worker in (0, 1):
            write(tmp_path / run / f"vm_{400 + worker}.{begin}.pt.trace.json", at(begin, pid=400 + worker))
    assert [[(rank, Path(name).parent.name) for rank, name in window] for window in seen(tmp_path)] == [
        [(0, "baseline"), (1, "baseline")],
        [(0, "tuned"), (1, "tuned")],
    ]


def test_traces_recorded_at_the_same_time_whose_names_differ_in_numbers_are_ranks(tmp_path: Path) -> None:
    """SGLang: 1758-TP-0.trace.json.gz."""
    for rank in (0, 1):
        begin = NOON + rank * SECOND // 10
        write(tmp_path / f"1758-TP-{rank}.trace.json.gz", at(begin, pid=500 + rank, host_name="node"))
    assert seen(tmp_path) == [[(rank, f"1758-TP-{rank}.trace.json.gz") for rank in (0, 1)]]
    assert codes(tmp_path) == [["rank_guessed"]]


def test_traces_of_one_process_whose_names_differ_in_numbers_are_windows(tmp_path: Path) -> None:
    for number in (0, 1):
        write(tmp_path / f"trace_{number}.json", at(NOON + 10 * number * SECOND, pid=500, host_name="node"))
    assert seen(tmp_path) == [[(0, "trace_0.json")], [(0, "trace_1.json")]]
    assert codes(tmp_path) == [[], []]
