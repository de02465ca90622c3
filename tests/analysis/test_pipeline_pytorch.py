"""PyTorch loaders: ranges in a trace, hidden behind device work or not, and what our own profiler adds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

import stepscope
from analysis.stores import make_store
from stepscope.analysis.pipeline import Pipeline, pipeline
from stepscope.store.run_store import RunStore
from support.samples import open_sample

WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
ALONE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
STEP = 1_000_000  # ns


def loop(
    directory: Path, get: int, kernels: list[tuple[int, int]], name: str = WORKERS, copies: bool = False
) -> RunStore:
    """Twelve steps of 1 ms. Each takes a batch for ``get`` ns; ``kernels`` are relative to the step's start."""
    slices: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for number in range(12):
        start = number * STEP
        slices.append(
            {"kind": "annotation", "phase": "data", "name": name, "start_ns": start, "dur_ns": get, "step": number}
        )
        slices += [
            {"kind": "kernel", "name": "gemm", "start_ns": start + first, "dur_ns": last - first, "step": number}
            for first, last in kernels
        ]
        if copies:
            slices.append({"kind": "copy", "name": "HtoD", "start_ns": start + get, "dur_ns": 1000, "step": number})
        steps.append(
            {
                "step": number,
                "host_start_ns": start,
                "host_end_ns": start + STEP,
                "device_end_ns": start + max((last for _, last in kernels), default=0),
                "forward_start_ns": start + min((first for first, _ in kernels), default=0),
                "marks_from": "profiler_step",
                "warm_up": False,
                "incomplete": False,
            }
        )
    return make_store(directory, slices=slices, steps=steps)


def test_a_device_that_idles_while_the_loop_takes_a_batch_starves(tmp_path: Path) -> None:
    answer = pipeline(loop(tmp_path, 400_000, [(400_000, 1_000_000)]))
    found = answer.data.verdict
    assert (found.bound, found.rule, found.op_name, found.certain) == ("pipeline", "F1", "DataLoader", True)
    assert found.wait_share == pytest.approx(0.4) and found.period_us == 1000.0
    assert found.potential_speedup == pytest.approx(1 / 0.6)
    assert answer.data.starving[0].which == list(range(12))
    assert answer.data.starving[0].unit == "step"
    assert [note.code for note in answer.notes] == ["pipeline_stages_missing"]
    times = answer.data.batches[0]
    assert (times.part, times.count, times.median_us, times.first_us) == ("get", 11, 400.0, 400.0)


def test_taking_a_batch_while_the_device_computes_costs_nothing(tmp_path: Path) -> None:
    # The device works through the range but for its last 30 us: 3 % of a step.
    found = pipeline(loop(tmp_path, 400_000, [(0, 370_000), (400_000, 1_000_000)])).data
    assert found.verdict.bound == "none" and found.starving[0].count == 0
    assert found.verdict.wait_share == pytest.approx(0.03)
    assert found.batches[0].median_us == 400.0


def test_loading_in_the_training_process_is_told_from_slow_workers(tmp_path: Path) -> None:
    alone = pipeline(loop(tmp_path / "a", 400_000, [(400_000, 1_000_000)], ALONE)).data.verdict
    workers = pipeline(loop(tmp_path / "b", 400_000, [(400_000, 1_000_000)])).data.verdict
    assert [sentence.key for sentence in alone.advice] == ["pipeline_advice.loader_main"]
    assert [sentence.key for sentence in workers.advice] == ["pipeline_advice.loader_workers"]


def test_a_gap_that_is_neither_loading_nor_copying_is_own_code(tmp_path: Path) -> None:
    def of(place: str, copies: bool) -> Any:
        store = loop(tmp_path / place, 10_000, [(600_000, 1_000_000)], copies=copies)
        return pipeline(store).data.verdict

    with_copies, without = of("a", True), of("b", False)
    assert (with_copies.bound, with_copies.rule) == ("user_code", "F3")
    assert (without.bound, without.rule) == ("unknown", "F2")


def test_nested_and_repeated_ranges_are_counted_once(tmp_path: Path) -> None:
    # Two ranges of 100 us in each step, the first with another one inside it.
    parts = [(0, 100), (20, 80), (300, 400)]
    slices = [
        {
            "kind": "annotation",
            "phase": "data",
            "name": WORKERS,
            "start_ns": step * STEP + first * 1000,
            "dur_ns": (last - first) * 1000,
            "step": step,
        }
        for step in range(12)
        for first, last in parts
    ]
    steps = [
        {
            "step": n,
            "host_start_ns": n * STEP,
            "host_end_ns": (n + 1) * STEP,
            "marks_from": "profiler_step",
            "warm_up": False,
        }
        for n in range(12)
    ]
    found = pipeline(make_store(tmp_path, slices=slices, steps=steps)).data.verdict
    assert found.wait_share == pytest.approx(0.2)


def test_real_traces_of_a_healthy_loop_are_not_blamed_on_data(shared_data: Path) -> None:
    for name in ("h200_plain.json.gz", "gpt_bf16.json.gz", "gpt_stack.json.gz"):
        answer = pipeline(open_sample(shared_data / "kineto" / name).store)
        msgspec.convert(answer.plain(), Pipeline)
        assert answer.data.verdict.bound == "none", name
        assert answer.data.starving[0].count == 0


# --- recorded here and now ----------------------------------------------------------------------------


def _loader(slow: str, workers: int) -> Any:
    torch = pytest.importorskip("torch")

    class Samples(torch.utils.data.Dataset):  # type: ignore[misc,name-defined]
        def __len__(self) -> int:
            return 48

        def __getitem__(self, number: int) -> Any:
            if slow == "dataset":
                time.sleep(0.025)  # far longer than a step, on a busy machine, too
            return torch.ones(4) * number

    def collate(samples: list[Any]) -> Any:
        if slow == "collate":
            time.sleep(0.1)
        return torch.stack(samples)

    return torch.utils.data.DataLoader(Samples(), batch_size=4, num_workers=workers, collate_fn=collate)


def _until_a_batch_is_there(batches: Any) -> None:
    """A training that is slower than its loader is so on a busy machine, too."""
    while batches._worker_result_queue.empty():
        time.sleep(0.01)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("slow", "named"), [("dataset", "Samples"), ("collate", "Collate"), ("training", None)])
@pytest.mark.parametrize("workers", [0, 1])
def test_our_own_recording_names_the_stage_of_the_loader(
    tmp_path: Path, slow: str, named: str | None, workers: int
) -> None:
    from stepscope.profiler import profile, schedule

    loader = _loader(slow, workers)
    with profile(schedule=schedule(wait=0, active=100), output_path=str(tmp_path)) as recording:
        batches = iter(loader)
        for _ in range(len(loader)):
            if slow == "training" and workers:
                _until_a_batch_is_there(batches)
            asked = time.perf_counter()
            next(batches)
            loading = time.perf_counter() - asked
            time.sleep(max(0.25, 40 * loading) if slow == "training" else 0.002)  # slower than any loading
            recording.step()
    found = pipeline(stepscope.load(tmp_path, progress=False).store).data
    if named is None:
        assert found.verdict.bound == "none"
        return
    assert (found.verdict.bound, found.bottleneck) == ("pipeline", named)
    main_process = any(sentence.key == "pipeline_advice.loader_main" for sentence in found.verdict.advice)
    assert main_process == (workers == 0)
