"""What a path holds: which reader, which ranks, which windows."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.errors import StepscopeError, UnreadableInputError
from stepscope.readers.discovery.windows import Window, windows
from stepscope.readers.files import raw_bytes
from stepscope.run import Run
from support.traces import annotation, compact, complete, document, kernel, operator, training_steps, write


def trace(rank: int | None = None, world: int | None = None, name: str = "aten::add") -> dict[str, Any]:
    """A small trace that states its rank, or none."""
    info = {"backend": "nccl", "rank": rank, "world_size": world}
    stated = (
        {"distributedInfo": {key: value for key, value in info.items() if value is not None}}
        if rank is not None
        else {}
    )
    return document([annotation("ProfilerStep#1", 1_000, 500), operator(name, 1_100, 10)], **stated)


def seen(path: Path) -> dict[str, list[tuple[int | None, str]]]:
    """Rank and file name of each source, per window."""
    return {window.name: [(source.rank, source.path.name) for source in window.sources] for window in windows(path)}


def ranks(found: Iterable[Window]) -> list[list[int | None]]:
    return [[source.rank for source in window.sources] for window in found]


def load(path: Path, **more: Any) -> Run:
    """In this process, also where there are several ranks."""
    with ThreadPoolExecutor(1) as executor:
        return stepscope.load(path, progress=False, executor=executor, **more)


def code_of(path: Path) -> str:
    with pytest.raises(StepscopeError) as caught:
        load(path)
    assert isinstance(caught.value, UnreadableInputError)
    assert caught.value.exit_code == 3
    assert caught.value.message("zh")
    return caught.value.code


# --- one file ---------------------------------------------------------------------------------------------


def test_a_file_is_one_window_of_one_rank(tmp_path: Path) -> None:
    path = write(tmp_path / "any name.json", trace())
    assert seen(path) == {"any name": [(0, "any name.json")]}
    run = load(path)
    assert (run.ranks, run.window, run.windows) == ([0], "any name", ["any name"])


@pytest.mark.parametrize("name", ["plain.json", "zipped.json.gz", "odd.txt", "no_suffix"])
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_compression_is_known_by_the_bytes_and_not_by_the_name(name: str, zipped: bool, tmp_path: Path) -> None:
    run = load(write(tmp_path / name, trace(rank=2), zipped=zipped))
    assert run.ranks == [2]
    assert run.sql("SELECT count(*) FROM slices").item() == 2


@pytest.mark.parametrize(
    ("content", "reader"),
    [
        (trace(), "kineto"),
        ({"traceEvents": [kernel("k", 1, 1, 1)]}, "kineto"),
        ({"traceEvents": [complete("Operator", "a", 1, 1)]}, "kineto"),
        ([complete("cpu_op", "a", 1, 1)], "kineto"),
        ({"traceEvents": [], "displayTimeUnit": "ms", "baseTimeNanoseconds": 1}, "kineto"),
        ({"traceEvents": [complete("FEE", "a", 1, 1)]}, "chrome"),
        ({"traceEvents": [complete("python", "a", 1, 1)]}, "chrome"),
        ({"traceEvents": [complete(None, "a", 1, 1)], "displayTimeUnit": "ms"}, "chrome"),
        ([complete(None, "kernel", 1, 1)], "chrome"),
        ("[", "chrome"),
        (" \n [ ]", "chrome"),
    ],
)
def test_the_reader_follows_from_the_content(content: Any, reader: str, tmp_path: Path) -> None:
    ((source,),) = [window.sources for window in windows(write(tmp_path / "t.json", content))]
    assert source.reader == reader


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_a_rank_behind_many_events_is_found(zipped: bool, tmp_path: Path) -> None:
    content = {"traceEvents": training_steps(60), "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8}}
    assert len(compact(content)) > 1 << 17
    (window,) = windows(write(tmp_path / "t.json", content, zipped=zipped))
    assert [(source.rank, source.world_size) for source in window.sources] == [(5, 8)]


@pytest.mark.parametrize(
    "info",
    [
        {"rank": 3},
        {"backend": "nccl", "rank": 3, "world_size": 4, "pg_config": [{"pg_name": "0", "ranks": [0, 1, 2, 3]}]},
        # as json.dumps(..., sort_keys=True) writes it
        {"backend": "nccl", "pg_config": [{"pg_name": "0", "ranks": [0, 1, 2, 3]}], "rank": 3, "world_size": 4},
    ],
)
def test_a_rank_is_found_wherever_it_stands_in_the_distributed_info(info: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", document([operator("a", 1, 1)], distributedInfo=info))
    assert ranks(windows(path)) == [[3]]


def test_the_stated_rank_comes_before_that_of_the_name(tmp_path: Path) -> None:
    assert ranks(windows(write(tmp_path / "rank7" / "trace_rank5.json", trace(rank=1)))) == [[1]]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("trace_rank4.json", 4),
        ("rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 0),
        ("Rank_12.json", 12),
        ("rank3/trace.json", 3),
        ("ranking.json", 0),
    ],
)
def test_without_a_stated_rank_the_name_tells(name: str, rank: int, tmp_path: Path) -> None:
    assert ranks(windows(write(tmp_path / name, trace()))) == [[rank]]


def test_long_metadata_before_the_events_is_no_obstacle(tmp_path: Path) -> None:
    content = {"schemaVersion": 1, "my_config": "x" * 300_000, **trace(rank=2)}
    assert load(write(tmp_path / "t.json", content)).ranks == [2]


# --- several ranks ----------------------------------------------------------------------------------------


def test_ranks_are_told_apart_by_what_they_state(tmp_path: Path) -> None:
    write(tmp_path / "b.json", trace(rank=0, world=2, name="of 0"))
    write(tmp_path / "a.json.gz", trace(rank=1, world=2, name="of 1"))
    assert seen(tmp_path) == {tmp_path.name: [(0, "b.json"), (1, "a.json.gz")]}
    run = load(tmp_path)
    assert run.ranks == [0, 1]
    names = run.sql("SELECT rank, name FROM slices WHERE kind = 'operator' ORDER BY rank").rows()
    assert names == [(0, "of 0"), (1, "of 1")]
    assert run.sql("SELECT DISTINCT world_size FROM ranks").rows() == [(2,)]


def test_ranks_are_told_apart_by_file_names(tmp_path: Path) -> None:
    for rank in range(11):
        write(tmp_path / f"ddp_rank{rank}.json", trace())
    assert ranks(windows(tmp_path)) == [list(range(11))]


def test_ranks_are_told_apart_by_folder_names(tmp_path: Path) -> None:
    for rank in range(3):
        write(tmp_path / f"rank{rank}" / "trace.json", trace())
    assert ranks(windows(tmp_path)) == [[0, 1, 2]]


def test_hosts_with_a_folder_each_are_one_run(tmp_path: Path) -> None:
    for rank, host in enumerate(("node-a", "node-b")):
        write(tmp_path / host / f"{host}_99.pt.trace.json", trace(rank=rank, world=2))
    assert ranks(windows(tmp_path)) == [[0, 1]]


def test_folders_that_say_nothing_of_each_other_are_separate_runs(tmp_path: Path) -> None:
    write(tmp_path / "monday" / "t.json", trace())
    write(tmp_path / "tuesday" / "t.json", trace())
    assert seen(tmp_path) == {"monday/t": [(0, "t.json")], "tuesday/t": [(0, "t.json")]}


def test_jobs_of_another_size_are_separate_runs(tmp_path: Path) -> None:
    write(tmp_path / "a.json", trace(rank=0, world=2))
    write(tmp_path / "b.json", trace(rank=1, world=2))
    write(tmp_path / "c.json", trace(rank=2, world=4))
    assert sorted(ranks(windows(tmp_path))) == [[0, 1], [2]]


def test_workers_without_a_rank_are_numbered_with_a_note(tmp_path: Path) -> None:
    for worker in ("host_30", "host_10", "host_20"):
        write(tmp_path / f"{worker}.pt.trace.json", trace())
    (window,) = windows(tmp_path)
    assert [(source.rank, source.path.name) for source in window.sources] == [
        (0, "host_10.pt.trace.json"),
        (1, "host_20.pt.trace.json"),
        (2, "host_30.pt.trace.json"),
    ]
    run = load(tmp_path)
    assert [(note.code, note.count) for note in run.notes] == [("rank_guessed", 3)]


def test_files_without_rank_and_worker_stand_alone(tmp_path: Path) -> None:
    write(tmp_path / "before.json", trace())
    write(tmp_path / "after.json", trace())
    assert seen(tmp_path) == {"before": [(0, "before.json")], "after": [(0, "after.json")]}


# --- several windows --------------------------------------------------------------------------------------


def test_captures_of_a_worker_are_windows_in_the_order_of_their_spans(tmp_path: Path) -> None:
    for rank, worker in enumerate(("b_1", "a_2")):
        for span in (2_000, 900, 10_000):
            write(tmp_path / f"{worker}.{span + rank}.pt.trace.json", trace(rank=rank, world=2, name=f"at {span}"))
    found = windows(tmp_path)
    assert ranks(found) == [[0, 1]] * 3
    spans = [[source.span for source in window.sources] for window in found]
    assert spans == [[900, 901], [2_000, 2_001], [10_000, 10_001]]
    assert len({window.name for window in found}) == 3
    run = load(tmp_path)
    assert run.windows == [window.name for window in found]
    assert run.window == found[-1].name  # the newest
    oldest = load(tmp_path, window=found[0].name)
    assert oldest.sql("SELECT DISTINCT name FROM slices WHERE kind = 'operator'").rows() == [("at 900",)]


def test_a_window_in_which_a_rank_is_missing_stays_a_window(tmp_path: Path) -> None:
    for rank, span in ((0, 100), (0, 200), (1, 210)):
        write(tmp_path / f"w{rank}.{span}.pt.trace.json", trace(rank=rank, world=2))
    assert ranks(windows(tmp_path)) == [[0], [0, 1]]


def test_without_spans_the_newest_file_is_the_newest_window(tmp_path: Path) -> None:
    for age, name in enumerate(("zebra", "apple", "mango")):
        path = write(tmp_path / f"{name}.json", trace())
        os.utime(path, ns=(10**18 - age * 10**9, 10**18 - age * 10**9))
    assert list(seen(tmp_path)) == ["mango", "apple", "zebra"]


def test_the_directory_of_samples(shared_data: Path) -> None:
    found = seen(shared_data / "kineto")
    assert {name: [rank for rank, _ in sources] for name, sources in found.items()} == {
        "ddp4": [0, 1, 2, 3],
        "gpt_bf16": [0],
        "gpt_fp32_snap": [0],
        "gpt_stack": [0],
        "h200_graph": [0],
        "h200_plain": [0],
    }


# --- what is no trace -------------------------------------------------------------------------------------


def test_unfinished_hidden_and_other_files_are_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path / "good.json", trace())
    write(tmp_path / "half.pt.trace.json.tmp", trace(rank=1))
    write(tmp_path / ".hidden.json", trace(rank=2))
    write(tmp_path / ".git" / "t.json", trace(rank=3))
    write(tmp_path / "config.json", {"learning_rate": 0.1})
    write(tmp_path / "notes.txt", "traceEvents")
    write(tmp_path / "empty.json", "")
    write(tmp_path / "picture.json", b"\x89PNG\r\n")
    assert seen(tmp_path) == {"good": [(0, "good.json")]}


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert code_of(tmp_path / "nowhere") == "no_such_path"


def test_a_directory_with_nothing_in_it(tmp_path: Path) -> None:
    assert code_of(tmp_path) == "nothing_to_read"
    write(tmp_path / "config.json", {"a": 1})
    write(tmp_path / "later.json.tmp", trace())
    assert code_of(tmp_path) == "nothing_to_read"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b"hello", "unknown_format"),
        (b'{"a": 1}', "unknown_format"),
        (b"\x1f\x8b\x08", "empty_file"),
        (b"\x00" * 1_000, "unknown_format"),
        (b'{"traceEvents": []}', "no_events"),
        (b"[]", "no_events"),
        (b'{"traceEvents": {"a": 1}}', "no_events"),
    ],
)
def test_a_file_that_holds_no_trace_gets_an_explanation(content: bytes, code: str, tmp_path: Path) -> None:
    assert code_of(write(tmp_path / "t.json", content)) == code


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", trace())
    path.chmod(0)
    assert code_of(path) == "cannot_read"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path / "run" / "rank0.json", trace())
    os.mkfifo(tmp_path / "run" / "rank1.json")
    assert load(tmp_path / "run").ranks == [0]
    assert code_of(tmp_path / "run" / "rank1.json") == "not_a_file"


def test_a_bomb_is_refused_and_does_not_hide_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_bytes, "_ALWAYS_ALLOWED_BYTES", 1 << 20)  # else it takes 256 MB to be one
    event = compact(operator("a", 1_000, 1)).encode() + b","
    bomb = tmp_path / "run" / "rank1.json.gz"
    write(tmp_path / "run" / "rank0.json", trace())
    bomb.write_bytes(gzip.compress(b'{"traceEvents": [' + event * 100_000, 9))
    assert code_of(bomb) == "decompression_bomb"
    spaces = write(tmp_path / "spaces.json", "[" + " " * (10 << 20), zipped=True)
    assert code_of(spaces) == "decompression_bomb"
    run = load(tmp_path / "run")
    assert run.ranks == [0]
    assert "rank_unreadable" in {note.code for note in run.notes}


def test_a_rank_that_cannot_be_read_is_noted_and_the_others_open(tmp_path: Path) -> None:
    write(tmp_path / "rank0.json", trace())
    write(tmp_path / "rank1.json", '{"schemaVersion": 1, "traceEvents": []}')
    run = load(tmp_path)
    assert run.ranks == [0]
    (note,) = run.notes
    assert (note.code, note.params["rank"]) == ("rank_unreadable", 1)


def test_ranks_of_several_formats_are_noted(tmp_path: Path) -> None:
    write(tmp_path / "rank0.json", trace())
    write(tmp_path / "rank1.json", [complete(None, "a", 1_000, 10)])
    run = load(tmp_path)
    assert run.ranks == [0, 1]
    assert "mixed_formats" in {note.code for note in run.notes}
