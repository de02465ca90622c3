"""Ranks read by the workers of a real Dask scheduler: the same run as by this machine, whatever happens to a worker."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepscope
from stepscope.engine.engines import executor_of
from stepscope.engine.ingest import ingest
from stepscope.errors import UsageError
from stepscope.run import Run
from stepscope.store import schema
from support.limits import HANGS_AFTER_S
from support.mini_trace import write_rank, write_unreadable

pytest.importorskip("distributed", reason="needs the extra stepscope[cluster] (make test)")
RANKS = 6


class Cluster:
    """A scheduler and two workers of one thread, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.log = (folder / "log").open("w", encoding="utf-8")
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        self.workers = [self._start("dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard") for _ in range(2)]
        self.address = self._address()

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(self.file), *options]
        process = subprocess.Popen(command, stdout=self.log, stderr=self.log, cwd=self.file.parent)
        self.processes.append(process)
        return process

    def _address(self) -> str:
        """Known as soon as the scheduler has written its file; the workers join it by themselves."""
        from distributed import Client

        deadline = time.monotonic() + HANGS_AFTER_S
        while not self.file.exists() or not self.file.read_text("utf-8"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address: str = json.loads(self.file.read_text("utf-8"))["address"]
        with Client(address, timeout=HANGS_AFTER_S, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=HANGS_AFTER_S)
        return address

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.log.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "dask").mkdir()
    started = Cluster(tmp_path / "dask")
    try:
        yield started
    finally:
        started.close()


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    for rank in range(RANKS):
        write_rank(tmp_path / "capture" / f"rank{rank}.json", rank, world_size=RANKS, steps=3)
    return tmp_path / "capture"


def assert_same(run: Run, other: Run) -> None:
    assert run.ranks == other.ranks == list(range(RANKS))
    for table in schema.TABLES:
        left, right = (each.table(table).collect() for each in (run, other))
        assert left.equals(right), table
    assert run.steps().equals(other.steps())


@pytest.mark.filterwarnings("ignore")
def test_the_run_is_the_same_as_by_this_machine(cluster: Cluster, capture: Path, tmp_path: Path) -> None:
    by_dask = stepscope.load(capture, store=tmp_path / "dask_store", engine=f"dask={cluster.address}")

    assert len(by_dask.ingested.read) == RANKS
    assert_same(by_dask, stepscope.load(capture, store=tmp_path / "local_store"))


@pytest.mark.filterwarnings("ignore")
def test_a_worker_killed_in_the_middle_changes_nothing(cluster: Cluster, capture: Path, tmp_path: Path) -> None:
    # It takes tasks and never ends one, until it is killed when the other worker has ended its first.
    victim = cluster.workers[1]
    victim.send_signal(signal.SIGSTOP)

    class KillsOne:
        done: list[int] = []  # noqa: RUF012

        def __call__(self, done: int, total: int) -> None:
            pass

        def tell_ranks(self, done: int, total: int) -> None:
            self.done.append(done)
            if done == 1:
                victim.kill()

    progress = KillsOne()
    with executor_of(f"dask={cluster.address}") as executor:
        done = ingest([capture], store=tmp_path / "dask_store", progress=progress, executor=executor)

    assert victim.wait(HANGS_AFTER_S) == -signal.SIGKILL
    assert progress.done == list(range(1, RANKS + 1))
    assert_same(Run(done), stepscope.load(capture, store=tmp_path / "local_store"))
    assert not [note for note in done.store.notes() if note.code == "rank_unreadable"]


@pytest.mark.filterwarnings("ignore")
def test_a_broken_rank_costs_that_rank_only(cluster: Cluster, capture: Path, tmp_path: Path) -> None:
    write_unreadable(capture / "rank3.json", 3, world_size=RANKS)
    run = stepscope.load(capture, store=tmp_path / "store", engine=f"dask={cluster.address}")

    assert set(run.ranks) >= set(range(RANKS)) - {3}
    about = [note.sentence() for note in run.notes]
    assert any("rank3.json" in sentence for sentence in about)
    assert not any(f"rank{rank}.json" in sentence for rank in (0, 1, 2, 4, 5) for sentence in about)


def test_what_was_read_needs_no_scheduler(capture: Path, tmp_path: Path) -> None:
    local = stepscope.load(capture, store=tmp_path / "store")
    again = stepscope.load(capture, store=tmp_path / "store", engine="dask=tcp://127.0.0.1:9")

    assert again.ingested.read == []
    assert again.ranks == local.ranks


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_a_clear_error(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.engine.dask_engine._SECONDS_TO_CONNECT", 1)
    with pytest.raises(UsageError) as caught:
        stepscope.load(capture, store=tmp_path / "store", engine="dask=tcp://127.0.0.1:9")
    assert caught.value.code == "engine_unreachable"


@pytest.mark.parametrize("engine", ["dask", "dask=", "spark=tcp://a", ""])
def test_an_unknown_engine_is_a_clear_error(engine: str, capture: Path) -> None:
    with pytest.raises(UsageError) as caught:
        stepscope.load(capture, engine=engine)
    assert caught.value.code == "unknown_engine"
