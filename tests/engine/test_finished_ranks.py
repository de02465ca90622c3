"""Ranks that were read before an interruption are not read again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stepscope.engine.ingest import Ingested, ingest
from stepscope.run import Run
from support.mini_trace import write_rank

RANKS = 4


class Counting(ThreadPoolExecutor):
    """One task after the other; counts them."""

    def __init__(self) -> None:
        super().__init__(1)
        self.ranks: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.ranks.append(args[0].source.rank)
        return super().submit(fn, *args, **kwargs)


class InterruptedAfter:
    def __init__(self, ranks: int) -> None:
        self.left = ranks

    def __call__(self, done: int, total: int) -> None:
        pass

    def tell_ranks(self, done: int, total: int) -> None:
        if done == self.left:
            raise KeyboardInterrupt


def read(capture: Path, progress: Any = None, **options: Any) -> tuple[Ingested, list[int]]:
    with Counting() as executor:
        done = ingest([capture], store=capture.parent / "store", progress=progress, executor=executor, **options)
    return done, executor.ranks


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """A capture of which some ranks were read: one thread may have begun the next when the interruption came."""
    for rank in range(RANKS):
        write_rank(tmp_path / "capture" / f"rank{rank}.json", rank, world_size=RANKS)
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path / "capture", InterruptedAfter(2))
    return tmp_path / "capture"


def test_only_the_others_are_read(interrupted: Path) -> None:
    done, ranks = read(interrupted)

    assert 1 <= len(ranks) <= RANKS - 2
    assert done.store.ranks == list(range(RANKS))
    assert not list(done.store.directory.glob("rank-*/part.json"))


def test_the_run_is_the_same_as_without_interruption(interrupted: Path, tmp_path: Path) -> None:
    done, _ = read(interrupted)
    whole = ingest([interrupted], store=tmp_path / "other")

    for table in ("slices", "steps", "ranks", "notes"):
        assert Run(done).table(table).collect().equals(Run(whole).table(table).collect()), table


def test_a_rank_that_changed_meanwhile_is_read_again(interrupted: Path) -> None:
    write_rank(interrupted / "rank0.json", 0, world_size=RANKS, steps=5)
    done, ranks = read(interrupted)

    assert 0 in ranks
    assert Run(done).table("steps", [0]).collect()["step"].n_unique() == 5


def test_a_damaged_file_is_not_trusted(interrupted: Path) -> None:
    store = interrupted.parent / "store"
    finished = [path for path in store.rglob("slices-0.parquet") if (path.parent / "part.json").exists()]
    for file in finished:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    _, ranks = read(interrupted)

    assert len(finished) >= 2
    assert sorted(ranks) == list(range(RANKS))


def test_all_are_read_where_that_is_asked_for(interrupted: Path) -> None:
    _, ranks = read(interrupted, again=True)

    assert sorted(ranks) == list(range(RANKS))
