"""A host held up by a full queue, in a model of one: a launch finds room when the one a queue before has started."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.launch_cases import LOOP, OTHER_STREAM, STREAM, US, Case
from stepscope.analysis.replay.full_queue import held_by_full_queue
from stepscope.analysis.replay.whole_rank import whole_rank

_LENGTH, _LAUNCHES, _SECOND_STEP = 70, 4500, 1000
_KERNEL_US, _LAUNCH_US = 10.0, 1.0
_LATE, _LATE_START_US = 1500, 40_000.0  # one launch on a stream of its own, such as a collective that waits for others


def _job() -> Case:
    case = Case()
    # The device takes up the first kernel of the second step when those launched before it are done.
    case.step(1, 0, (_SECOND_STEP - _LENGTH) * _KERNEL_US)
    case.step(2, (_SECOND_STEP - _LENGTH) * _KERNEL_US, 80_000)
    starts: list[float] = []
    host = free = 0.0
    for number in range(_LAUNCHES):
        host += _LAUNCH_US
        if number >= _LENGTH:
            host = max(host, starts[number - _LENGTH] + 0.1)
        late = number == _LATE
        starts.append(_LATE_START_US if late else max(free, host + 0.5))
        free = free if late else starts[-1] + _KERNEL_US
        step = 1 if number < _SECOND_STEP else 2
        _add(case, "runtime", LOOP, step, (host, 0.4))
        _add(case, "kernel", OTHER_STREAM if late else STREAM, step, (starts[-1], _KERNEL_US))
        case.link("launch", len(case.slices) - 2, len(case.slices) - 1)
    return case


def _add(case: Case, kind: str, track: int, step: int, time: tuple[float, float]) -> None:
    """As ``Case.slice``, which looks at all slices around. The time is the start and how long it lasts."""
    times = {"start_ns": round(time[0] * US), "dur_ns": round(time[1] * US)}
    row = {"slice": len(case.slices), "name": kind, "kind": kind, "track": track, "row": int(track == LOOP)}
    case.slices.append(row | times | {"step": step})


def test_a_late_start_on_another_stream_holds_the_host_up(tmp_path: Path) -> None:
    part = whole_rank(_job().store(tmp_path), 0)
    assert part is not None
    held = held_by_full_queue(part.work, part.device, part.nodes)
    released = {
        part.nodes.point_time[point] / US: part.device.start[row] / US
        for point, row in zip(held.point.tolist(), held.slice.tolist(), strict=True)
    }
    # The host goes on with the launch that follows a queue behind the late one, when that one starts at last.
    went_on = min((moment for moment in released if moment > _LATE_START_US), default=0)
    assert went_on == pytest.approx(_LATE_START_US, abs=1.0)
    assert released[went_on] == _LATE_START_US
