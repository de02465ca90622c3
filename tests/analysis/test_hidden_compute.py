"""Steps of captures whose timeline does not show what the device computed: unknown, not zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.analysis.steps import steps
from stepscope.analysis.summary import summary
from stepscope.store.run_store import RunStore
from support.samples import open_sample

_PARTS = ("computing_us", "communication_us", "exposed_communication_us", "free_us", "device_span_us")


def _slice(kind: str, start: int, end: int, step: int | None, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "start_ns": start, "dur_ns": end - start, "step": step, "name": kind} | more


def _store(directory: Path, *slices: dict[str, Any], compute_recorded: bool | None = None) -> RunStore:
    marks = [{"step": 1, "host_start_ns": 0, "host_end_ns": 1000, "marks_from": "step_trace"}]
    tracks = [{"track": 0, "kind": "stream"}]
    ranks = [{"rank": 0, "compute_recorded": compute_recorded}]
    return make_store(directory, ranks=ranks, slices=list(slices), steps=marks, tracks=tracks)


def _parts(store: RunStore) -> tuple[list[Any], list[str]]:
    answer = steps(store)
    (row,) = answer.data.select(_PARTS).rows()
    return list(row), [note.code for note in answer.notes]


def test_kernels_outside_every_step_do_not_make_computing_known(tmp_path: Path) -> None:
    store = _store(tmp_path, _slice("collective", 10, 30, 1), _slice("kernel", 5000, 5100, None))
    assert _parts(store) == ([None] * 5, ["no_compute_recorded"])


def test_ai_cpu_kernels_alone_do_not_make_computing_known(tmp_path: Path) -> None:
    kernels = [_slice("kernel", 10, 136, 1, core="AI_CPU"), _slice("collective", 200, 300, 1)]
    store = _store(tmp_path / "a", *kernels, compute_recorded=False)
    assert _parts(store) == ([None] * 5, ["compute_only_in_tables"])
    (note,) = steps(store).notes
    for language in ("en", "zh"):
        assert "output_timeline_data" in note.sentence(language)
    # With an AI Core kernel beside them the timeline has all: 126 + 40 busy of 10 to 340, 100 of communication.
    with_core = [*kernels, _slice("kernel", 300, 340, 1, core="AI_CORE")]
    store = _store(tmp_path / "b", *with_core, compute_recorded=True)
    assert _parts(store) == ([0.166, 0.1, 0.1, 0.064, 0.33], [])
    # Other writers put every kernel on the timeline.
    assert _parts(_store(tmp_path / "c", *kernels)) == ([0.126, 0.1, 0.1, 0.064, 0.29], [])


def test_the_shared_directory_of_mindinsight_blames_nobody(shared_data: Path) -> None:
    store = open_sample(shared_data / "mindinsight" / "profiler").store
    found = steps(store).data
    assert found["rank"].unique(maintain_order=True).to_list() == [0, 10]
    assert all(found[name].null_count() == len(found) for name in _PARTS)
    assert summary(store).data.delimitation is None


@pytest.mark.parametrize("step", [1, None])
def test_copies_alone_leave_computing_unknown(tmp_path: Path, step: int | None) -> None:
    found, _ = _parts(_store(tmp_path, _slice("copy", 10, 30, step), _slice("kernel", 5000, 5100, None)))
    assert found == [None] * 5
