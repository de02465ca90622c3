"""Snapshots whose marks of steps reach back further than their history of allocations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepscope
from readers.memory_snapshot_builder import annotation, block, event, frame, freed, segment, write
from stepscope.analysis.leaks import leaks
from stepscope.analysis.memory import memory
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

_STEPS, _KEPT, _TEMPORARY = 10, 1024, 2048
_EVENTS = 4  # of each step: a block that is kept for ever, and one that is given back


def _snapshot(*kept_events: int, stacks: bool = True) -> dict[str, Any]:
    """Ten steps of a millisecond; of each device only the last events are left, as a ring leaves them."""
    where = [frame("keep", 7)] if stacks else []
    segments, traces, marks = [], [], []
    for device, count in enumerate(kept_events):
        base = 0x7F00_0000_0000 + device * 0x1_0000_0000
        trace, blocks = [], []
        for step in range(_STEPS):
            start, address = 1000 * (step + 1), base + step * _KEPT
            marks += [
                annotation("START", "Optimizer.zero_grad#SGD.zero_grad", start, device),
                annotation("END", "Optimizer.zero_grad#SGD.zero_grad", start + 1, device),
                annotation("START", "Optimizer.step#SGD.step", start + 800, device),
                annotation("END", "Optimizer.step#SGD.step", start + 900, device),
            ]
            trace += [
                event("alloc", address, _KEPT, start + 100, frames=where),
                event("alloc", base + 0x10_0000, _TEMPORARY, start + 200, frames=[frame("use", 9)] if stacks else []),
                *freed(base + 0x10_0000, _TEMPORARY, start + 300),
            ]
            blocks.append(block(address, _KEPT) | {"frames": where})
        segments.append(segment(base, 2 << 20, blocks, device=device))
        traces.append(trace[len(trace) - count :])
    return {"segments": segments, "device_traces": traces, "external_annotations": marks}


def _store(folder: Path, *kept_events: int, stacks: bool = True) -> RunStore:
    path = write(folder, _snapshot(*kept_events, stacks=stacks))
    return stepscope.load(path, progress=False, store=folder / "store").store


def test_a_history_that_begins_with_the_steps_counts_all_of_them(tmp_path: Path) -> None:
    found = leaks(_store(tmp_path, _STEPS * _EVENTS))
    (leak,) = [site for site in found.data.sites if site.verdict == "leak"]
    assert [birth.step for birth in leak.births] == list(range(1, 11))
    assert "memory_steps_before_history" not in [note.code for note in found.notes]


# The last event of step 4 is left, so that step 5 is the first to be whole; or the first of step 5 is lost too.
@pytest.mark.parametrize(("events", "first"), [(6 * _EVENTS + 1, 5), (6 * _EVENTS, 6), (6 * _EVENTS - 1, 6)])
def test_a_cut_history_is_judged_from_its_first_whole_step(tmp_path: Path, events: int, first: int) -> None:
    answer = leaks(_store(tmp_path, events))
    (leak,) = [site for site in answer.data.sites if site.verdict == "leak"]
    covered = _STEPS - first + 1
    assert leak.bytes_per_step == _KEPT
    assert leak.intervals == covered - 2
    assert [pool.steps for pool in answer.data.pools] == [covered]
    notes = {note.code: note for note in answer.notes}
    assert notes["memory_steps_before_history"].count == first - 1
    assert "cuda:0" in notes["memory_steps_before_history"].sentence("zh")
    assert notes["leaks_more_steps"].params["steps"] == covered


@pytest.mark.parametrize(("events", "covered"), [(4 * _EVENTS + 1, 4), (2 * _EVENTS, 1), (0, 0)])
@pytest.mark.parametrize("stacks", [True, False])
def test_too_short_a_history_is_no_all_clear(tmp_path: Path, events: int, covered: int, stacks: bool) -> None:
    with pytest.raises(NoAnswerError) as error:
        leaks(_store(tmp_path, events, stacks=stacks))
    assert error.value.code == "leaks_history_too_short"
    assert (error.value.params["marked"], error.value.params["steps"]) == (_STEPS, covered)
    for word in (str(_STEPS), str(covered), "max_entries"):
        assert word in error.value.message("en")
        assert word in error.value.message("zh")


def test_every_device_has_a_history_of_its_own(tmp_path: Path) -> None:
    answer = leaks(_store(tmp_path, _STEPS * _EVENTS, 0))
    assert [(pool.device, pool.steps) for pool in answer.data.pools] == [("cuda:0", _STEPS)]
    told = {note.code: note.params for note in answer.notes}
    assert told["memory_steps_before_history"]["device"] == "cuda:1"
    assert told["leaks_too_few_steps"]["steps"] == 0


def test_steps_without_history_have_no_balance(tmp_path: Path) -> None:
    answer = memory(_store(tmp_path, 4 * _EVENTS + 1))
    assert [(row.step, row.allocated_bytes) for row in answer.data.steps] == [
        (step, _KEPT + _TEMPORARY) for step in (7, 8, 9, 10)
    ]
    assert answer.data.step_difference is not None
    assert (answer.data.step_difference.base_step, answer.data.step_difference.step) == (9, 10)
    assert "memory_steps_before_history" in [note.code for note in answer.notes]
