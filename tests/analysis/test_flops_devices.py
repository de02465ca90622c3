"""Time, place and number of devices behind the shares of the peak, by hand: each product takes 600 us on an A100."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.analysis.answer import Answer
from stepscope.analysis.flops import Flops, flops
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

Row = dict[str, Any]
_US = 1000
_PRODUCT = 2 * 4096**3
_PEAK = 312e12
_SHAPES = {"input_shapes": "[[4096, 4096], [4096, 4096]]", "dtypes": '["c10::BFloat16", "c10::BFloat16"]'}


class _Run:
    """A process with one host thread and devices with one stream each; times in microseconds."""

    def __init__(self) -> None:
        self.slices: list[Row] = []
        self.links: list[Row] = []
        self.steps: list[Row] = []

    def step(self, number: int, start: int, end: int, device: tuple[int, int] | None = None, **more: Any) -> None:
        row = {"step": number, "host_start_ns": start * _US, "host_end_ns": end * _US, **more}
        if device is not None:
            row |= {"device_start_ns": device[0] * _US, "device_end_ns": device[1] * _US}
        self.steps.append(row)

    def product(self, step: int, start: int, kernel: int | None, device: int = 0) -> None:
        """One product on the host, and its kernel of 600 us."""
        host = {"start_ns": start * _US, "dur_ns": 4 * _US, "step": step, "track": 0}
        self.slices.append({**host, "kind": "operator", "name": "aten::mm", **_SHAPES})
        if kernel is None:
            return
        place = len(self.slices)
        self.slices.append({**host, "kind": "runtime", "name": "cudaLaunchKernel", "parent": place - 1})
        self.kernel(step, kernel, device)
        self.links.append({"kind": "launch", "from_slice": place, "to_slice": place + 1})

    def kernel(self, step: int | None, start: int, device: int = 0) -> None:
        row = {"start_ns": start * _US, "dur_ns": 600 * _US, "step": step, "track": 1 + device}
        self.slices.append({**row, "kind": "kernel", "name": "ampere_bf16_s16816gemm_bf16"})

    def store(self, directory: Path) -> RunStore:
        ranks = [{"rank": 0, "device_kind": "gpu", "device_name": "NVIDIA A100-SXM4-80GB"}]
        tracks: list[Row] = [{"track": 0, "kind": "host", "process": "python"}]
        tracks += [{"track": 1 + number, "kind": "stream", "process": f"python GPU {number}"} for number in range(2)]
        links: dict[str, Any] = {"links": self.links} if self.links else {}
        return make_store(directory, slices=self.slices, steps=self.steps, ranks=ranks, tracks=tracks, **links)


def _codes(answer: Answer[Flops]) -> list[tuple[str, int]]:
    return [(note.code, note.count) for note in answer.notes]


def test_a_host_that_runs_ahead_does_not_shorten_the_steps(tmp_path: Path) -> None:
    """Four host steps of 100 us, each of which keeps the device busy for 2,400 us, from 30 us on."""
    run = _Run()
    for step in range(4):
        run.step(step, step * 100, (step + 1) * 100, (30 + step * 2400, 30 + (step + 1) * 2400))
        for place in range(4):
            run.product(step, step * 100 + 10 + 10 * place, 30 + step * 2400 + 600 * place)
    answer = flops(run.store(tmp_path))
    assert [step.duration_us for step in answer.data.steps] == [2430, 2400, 2400, 2400]
    assert answer.data.steps[1].mfu_share == pytest.approx(4 * _PRODUCT / 2400e-6 / _PEAK)  # 73.4 %
    (rank,) = answer.data.ranks
    assert (rank.duration_us, rank.flops) == (9630, 16 * _PRODUCT)
    assert rank.mfu_share == pytest.approx(16 * _PRODUCT / 9630e-6 / _PEAK)  # 73.2 %
    assert _codes(answer) == []


def test_the_bounds_of_a_step_are_the_same_when_it_is_asked_for_alone(tmp_path: Path) -> None:
    run = _Run()
    for step in range(3):
        run.step(step, step * 100, (step + 1) * 100, (50 + step * 600, 650 + step * 600))
        run.product(step, step * 100 + 10, 50 + step * 600)
    (found,) = flops(run.store(tmp_path), steps=[1]).data.steps
    assert (found.step, found.duration_us, found.flops) == (1, 600, _PRODUCT)


def test_the_time_between_two_steps_belongs_to_the_later_one(tmp_path: Path) -> None:
    run = _Run()
    for step in range(2):  # the device is done after 700 us and after 1,800
        run.step(step, step * 1100, step * 1100 + 1000, (step * 1100 + 100, step * 1100 + 700))
        run.product(step, step * 1100 + 10, step * 1100 + 100)
    found = flops(run.store(tmp_path)).data
    assert [step.duration_us for step in found.steps] == [700, 1100]
    assert found.ranks[0].mfu_share == pytest.approx(2 * _PRODUCT / 1800e-6 / _PEAK)


def test_the_first_step_starts_when_earlier_work_is_done(tmp_path: Path) -> None:
    run = _Run()
    run.kernel(None, -300)  # until 300
    run.step(0, 0, 100, (320, 920))
    run.product(0, 10, 320)
    (step,) = flops(run.store(tmp_path)).data.steps
    assert step.duration_us == 920 - 300


def test_a_step_in_which_the_device_only_catches_up_has_no_rate(tmp_path: Path) -> None:
    run = _Run()
    run.step(0, 0, 100, (50, 1250))
    run.step(1, 100, 200)  # launches nothing, and is over before the device is done with step 0
    run.product(0, 10, 50)
    run.product(0, 20, 650)
    first, second = flops(run.store(tmp_path)).data.steps
    assert (first.duration_us, second.duration_us) == (1250, 0)
    assert (second.flops, second.flops_per_s, second.mfu_share) == (0, None, None)


def test_calls_that_ran_on_the_host_do_not_count_for_the_device(tmp_path: Path) -> None:
    run = _Run()
    for step in range(4):
        run.step(step, step * 1000, (step + 1) * 1000, (step * 1000 + 30, step * 1000 + 630))
        run.product(step, step * 1000 + 10, step * 1000 + 30)
        run.product(step, step * 1000 + 500, None)
    answer = flops(run.store(tmp_path))
    assert answer.data.ranks[0].mfu_share == pytest.approx(4 * _PRODUCT / 3630e-6 / _PEAK)  # 48.54 %
    (row,) = answer.data.operators
    assert (row.count, row.flops) == (4, 4 * _PRODUCT)
    assert row.peak_share == pytest.approx(_PRODUCT / 600e-6 / _PEAK)
    assert _codes(answer) == [("flops_on_host", 4)]
    assert "549.756 GFLOP" in answer.notes[0].sentence()  # 4 · 2 · 4096³


def test_where_only_the_host_computed_no_rate_of_the_device_is_reported(tmp_path: Path) -> None:
    run = _Run()
    run.product(0, 10, None)
    other = {"start_ns": 0, "dur_ns": 5, "track": 0}
    run.slices.append({**other, "kind": "operator", "name": "aten::relu"})
    run.kernel(0, 100)
    run.links.append({"kind": "operator_launch", "from_slice": 1, "to_slice": 2})
    with pytest.raises(NoAnswerError, match="the 1 call whose"):
        flops(run.store(tmp_path))


def test_kernels_that_nobody_is_known_to_have_launched_take_no_call_away(tmp_path: Path) -> None:
    run = _Run()
    run.step(0, 0, 1000, (30, 630))
    run.product(0, 10, None)
    run.kernel(0, 30)
    answer = flops(run.store(tmp_path))
    assert answer.data.ranks[0].flops == _PRODUCT
    assert answer.data.operators[0].device_us is None
    assert _codes(answer) == [("flops_without_launches", 1)]


def test_several_devices_have_several_peaks(tmp_path: Path) -> None:
    """Two devices at the same time: each runs one product in two steps, which are over after 1,900 us."""
    run = _Run()
    for step in range(2):
        run.step(step, step * 1000, (step + 1) * 1000, (step * 1000 + 100, step * 1000 + 900))
        run.product(step, step * 1000 + 10, step * 1000 + 100, device=0)
        run.product(step, step * 1000 + 20, step * 1000 + 300, device=1)
    answer = flops(run.store(tmp_path))
    (rank,), (row,) = answer.data.ranks, answer.data.operators
    assert rank.flops_per_s == pytest.approx(4 * _PRODUCT / 1900e-6)
    assert rank.mfu_share == pytest.approx(2 * _PRODUCT / 1900e-6 / _PEAK)
    assert rank.peaks_flops_per_s["bf16"] == _PEAK
    assert row.device_us == pytest.approx(4 * 600)
    assert row.peak_share == pytest.approx(_PRODUCT / 600e-6 / _PEAK)
    assert _codes(answer) == [("flops_of_several_devices", 2)]


def test_a_share_above_the_peak_says_that_it_cannot_be_true(tmp_path: Path) -> None:
    run = _Run()
    run.step(0, 0, 1000, (30, 630))
    run.product(0, 10, 30)
    answer = flops(run.store(tmp_path), peak_tflops=100)  # 137 in the step, 229 while the kernel runs
    assert _codes(answer) == [("flops_above_peak", 3)]
    assert "rank 0, step 0, aten::mm (bf16)" in answer.notes[0].sentence()
