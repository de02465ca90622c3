"""PyTorch data loaders: where a batch's time goes, without a change to the user's code."""

from __future__ import annotations

import json
import multiprocessing
import operator
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.profiler import profile, schedule
from support.limits import HANGS_AFTER_S

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, IterableDataset, _utils, dataloader  # noqa: E402

SLOW_S = 0.05


class Samples(Dataset):  # type: ignore[misc]
    """Numbers; one sample of each batch of four may take its time."""

    def __init__(self, slow_s: float = 0.0, count: int = 24) -> None:
        self.slow_s = slow_s
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if index % 4 == 0:
            time.sleep(self.slow_s)
        return torch.tensor(float(index))


class Stream(IterableDataset):  # type: ignore[misc]
    def __iter__(self) -> Any:
        for number in range(12):
            if number % 4 == 0:
                time.sleep(SLOW_S)
            yield torch.tensor(float(number))


def slow_collate(samples: list[Any]) -> Any:
    time.sleep(SLOW_S)
    return torch.stack(samples)


def _record(where: Path, loader: Any, work_s: float = 0.0, skip: int = 0) -> stepscope.Run:
    plan = schedule(wait=0, active=100, skip_first=skip)
    with profile(schedule=plan, output_path=str(where)) as prof:
        for _ in loader:
            time.sleep(work_s)
            prof.step()
    return stepscope.load(where)


def _least_ms(run: stepscope.Run) -> dict[str, float]:
    """The shortest time of each stage: a sleep in it cannot be undercut, and a busy machine lengthens the others."""
    found = run.sql(
        "SELECT type, min(dur_ns) / 1e6 AS ms FROM slices WHERE phase = 'data' AND type IS NOT NULL GROUP BY type"
    )
    return dict(found.rows())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_slow_dataset_is_told_from_slow_collating(tmp_path: Path, workers: int) -> None:
    slow_dataset = _record(tmp_path / "a", DataLoader(Samples(SLOW_S), batch_size=4, num_workers=workers))
    slow_collating = _record(tmp_path / "b", DataLoader(Samples(), 4, num_workers=workers, collate_fn=slow_collate))
    first, second = _least_ms(slow_dataset), _least_ms(slow_collating)
    assert first["Dataset"] >= 50 > 2 * first["Collate"]
    assert second["Collate"] >= 50 > 2 * second["Dataset"]
    ops = slow_dataset.table("pipeline_ops").collect()
    assert ops.select("op", "name", "kind", "parent", "workers", "capacity").rows() == [
        (0, "DataLoader", "DataLoader", None, max(workers, 1), None),
        (1, "Collate", "Collate", 0, max(workers, 1), 4 if workers else None),
        (2, "Samples", "Dataset", 1, max(workers, 1), None),
    ]


def test_the_loops_wait_is_what_its_own_clock_says(tmp_path: Path) -> None:
    waits = []
    with profile(output_path=str(tmp_path)) as prof:
        source = iter(DataLoader(Samples(SLOW_S), batch_size=4))
        for _ in range(6):
            began = time.time_ns()
            next(source)
            waits.append((time.time_ns() - began) / 1000)
            prof.step()
    batches = stepscope.load(tmp_path).table("pipeline_batches").collect()
    # Ours lies inside the loop's own clock and around the sleep; where nothing came between, they are the same.
    assert all(SLOW_S * 1e6 <= ours <= own for ours, own in zip(batches["get_us"], waits, strict=True))
    assert max(map(operator.truediv, batches["get_us"], waits)) == pytest.approx(1, rel=0.01)
    assert batches["step"].to_list() == [0, 1, 2, 3, 4, 5]


class Permitted(Samples):
    """A batch is made when the loop permits it, and not before."""

    def __init__(self, permits: Any) -> None:
        super().__init__(count=32)
        self.permits = permits

    def __getitem__(self, index: int) -> Any:
        if index % 4 == 0:
            self.permits.acquire()
        return torch.tensor(float(index))


def _batches_of(where: Path, source: Any, before_each: Callable[[Any], None], count: int) -> pl.DataFrame:
    with profile(output_path=str(where)) as prof:
        for _ in range(count):
            before_each(source)
            next(source)
            prof.step()
    return stepscope.load(where).table("pipeline_batches").collect()


def _wait_for_three(source: Any) -> None:
    until = time.monotonic() + HANGS_AFTER_S
    while source._worker_result_queue.qsize() < 3:
        assert time.monotonic() < until
        time.sleep(0.001)


def test_the_queue_is_full_when_training_is_slow(tmp_path: Path) -> None:
    source = iter(DataLoader(Samples(count=32), batch_size=4, num_workers=1, prefetch_factor=4))
    batches = _batches_of(tmp_path, source, _wait_for_three, 5)  # of 8: there are always four to make ahead
    assert batches["capacity"].to_list() == [4] * 5
    assert batches["queue"].min() >= 3  # type: ignore[operator]
    samples = stepscope.load(tmp_path).table("pipeline_samples").collect()
    assert samples["op"].unique().to_list() == [1]
    assert samples["queue"].to_list() == batches["queue"].to_list()


def test_the_queue_is_empty_when_loading_is_slow(tmp_path: Path) -> None:
    permits = multiprocessing.get_context("fork").Semaphore(0)
    source = iter(DataLoader(Permitted(permits), batch_size=4, num_workers=1))
    batches = _batches_of(tmp_path, source, lambda _: permits.release(), 6)
    assert batches["queue"].max() <= 1  # type: ignore[operator]
    for _ in range(2):
        permits.release()  # the worker may end


class EvenPermitted(Samples):
    """Even samples, which the first of two workers makes, wait for a permit."""

    def __init__(self, permits: Any) -> None:
        super().__init__(count=32)
        self.permits = permits

    def __getitem__(self, index: int) -> Any:
        if index % 2 == 0:
            self.permits.acquire()
        return torch.tensor(float(index))


def test_later_batches_that_lie_ready_are_no_ready_batch(tmp_path: Path) -> None:
    """One of two workers is slow: what the other one made has to wait for its turn."""
    permits = multiprocessing.get_context("fork").Semaphore(0)
    source = iter(DataLoader(EvenPermitted(permits), batch_size=None, num_workers=2))

    def permit_once_others_are_set_aside() -> None:
        until = time.monotonic() + HANGS_AFTER_S
        while not any(len(task) == 2 for task in list(source._task_info.values())) and time.monotonic() < until:
            time.sleep(0.001)
        permits.release()

    def wait_for_the_other_worker(_: Any) -> None:
        until = time.monotonic() + HANGS_AFTER_S
        while source._worker_result_queue.qsize() < 1:
            assert time.monotonic() < until
            time.sleep(0.001)
        threading.Thread(target=permit_once_others_are_set_aside).start()

    batches = _batches_of(tmp_path, source, wait_for_the_other_worker, 1)
    assert batches["queue"].to_list() == [0]
    for _ in range(16):
        permits.release()  # the workers may end


SPAWNED = """
import sys, time, torch
from torch.utils.data import DataLoader, Dataset
from stepscope.profiler import profile

class Samples(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        time.sleep(0.0125)
        return torch.tensor(float(index))

if __name__ == "__main__":
    with profile(output_path=sys.argv[1]):
        assert len(list(DataLoader(Samples(), batch_size=4, num_workers=1, multiprocessing_context="spawn"))) == 2
"""


def test_spawned_workers_are_timed_too(tmp_path: Path, job: Any) -> None:
    code, _, errors = job.run(SPAWNED, str(tmp_path / "out"))
    assert code == 0, errors
    run = stepscope.load(tmp_path / "out")
    assert _least_ms(run)["Dataset"] >= 50
    workers = run.table("tracks").filter(pl.col("process") == "DataLoader").collect()["name"].to_list()
    assert any(name.startswith("worker 0") for name in workers)


def test_iterable_datasets_are_timed(tmp_path: Path) -> None:
    run = _record(tmp_path, DataLoader(Stream(), batch_size=4))
    assert _least_ms(run)["Dataset"] >= 50


def test_workers_started_before_the_profile_are_seen_from_outside(tmp_path: Path) -> None:
    source = iter(DataLoader(Samples(SLOW_S), batch_size=4, num_workers=1))
    next(source)
    run = _record(tmp_path, source)
    assert run.table("pipeline_batches").collect().height == 5
    assert set(_least_ms(run)) == {"DataLoader"}


def test_everything_is_as_it_was_afterwards(tmp_path: Path) -> None:
    def places() -> list[Any]:
        return [
            dataloader._BaseDataLoaderIter.__next__,
            _utils.fetch._MapDatasetFetcher.fetch,
            _utils.fetch._IterableDatasetFetcher.fetch,
            _utils.worker._worker_loop,
            _utils.pin_memory.pin_memory,
        ]

    before = places()
    with profile(output_path=str(tmp_path / "a")), profile(output_path=str(tmp_path / "b"), start_profile=False):
        assert all(old is not new for old, new in zip(before, places(), strict=True))
    assert all(old is new for old, new in zip(before, places(), strict=True))


def test_two_loaders_are_kept_apart(tmp_path: Path) -> None:
    with profile(output_path=str(tmp_path)):
        list(DataLoader(Samples(), batch_size=4))
        list(DataLoader(Samples(count=8), batch_size=4))
    run = stepscope.load(tmp_path)
    assert run.table("pipeline_batches").collect()["batch"].to_list() == [0, 1, 2, 3, 4, 5]
    assert [note.code for note in run.notes] == ["loaders_beside"]
    assert run.table("pipeline_ops").collect().height == 6


def test_a_loader_at_the_address_of_one_that_is_gone_is_another(tmp_path: Path) -> None:
    with profile(output_path=str(tmp_path)):
        for _ in range(12):
            list(DataLoader(Samples(count=4), batch_size=4))
    (loaders,) = tmp_path.rglob("loaders.jsonl")
    assert [json.loads(line)["loader"] for line in loaders.read_text().splitlines()] == list(range(12))


def test_epochs_of_a_loader_are_one_loader(tmp_path: Path) -> None:
    for_index, by_list = DataLoader(Samples(count=4), batch_size=4), DataLoader(Samples(), batch_sampler=[[0], [1]])
    with profile(output_path=str(tmp_path)):
        for _ in range(3):
            list(for_index)
            list(by_list)
    (loaders,) = tmp_path.rglob("loaders.jsonl")
    assert len(loaders.read_text().splitlines()) == 2


def test_errors_of_the_users_dataset_stay_the_users(tmp_path: Path) -> None:
    class Broken(Samples):
        def __getitem__(self, index: int) -> Any:
            raise LookupError(f"no sample {index}")

    with profile(output_path=str(tmp_path)), pytest.raises(LookupError, match="no sample 0"):
        next(iter(DataLoader(Broken(), batch_size=4)))


def test_pinning_is_a_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without an accelerator nothing is pinned; what is timed is the call itself, on nested data.
    def pin(data: Any, device: Any = None) -> Any:
        if isinstance(data, list):
            return [_utils.pin_memory.pin_memory(item, device) for item in data]
        time.sleep(0.02)
        return data

    monkeypatch.setattr(_utils.pin_memory, "pin_memory", pin)
    with profile(output_path=str(tmp_path)):
        _utils.pin_memory.pin_memory([1, 2])
    found = stepscope.load(tmp_path).sql("SELECT type, dur_ns / 1e6 AS ms FROM slices WHERE phase = 'data'")
    assert found["type"].to_list() == ["PinMemory"]
    assert found["ms"][0] >= 40
