"""Length of queues against a queue that is stepped through, nanosecond by nanosecond."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.launch_cases import OTHER_STREAM, STREAM, Case
from stepscope.analysis.launches import launches
from stepscope.analysis.launches.queue import curves

_INTERVALS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(-5, 30)), min_size=1, max_size=25)


@given(_INTERVALS, st.integers(1, 4))
def test_curves_are_those_of_a_queue_stepped_through(intervals: list[tuple[int, int, int]], full: int) -> None:
    key, begin, length = (np.array(column, np.int64) for column in zip(*intervals, strict=True))
    found = curves(key, begin, begin + length, full)
    assert found.key.tolist() == sorted(set(key.tolist()))
    for place, own in enumerate(found.key.tolist()):
        mine = [(first, max(first, first + lasts)) for owner, first, lasts in intervals if owner == own]
        first, last = min(start for start, _ in mine), max(end for _, end in mine)
        heights = [sum(start <= moment < end for start, end in mine) for moment in range(first, last)]
        assert found.span[place] == last - first
        assert found.mean[place] == pytest.approx(sum(heights) / len(heights) if heights else 0)
        assert found.most[place] == max(heights, default=0)
        assert found.empty[place] == heights.count(0)
        assert found.full[place] == sum(height >= full for height in heights)
        assert found.changes[place] == len({moment for pair in mine for moment in pair})


def test_nothing_has_no_curve() -> None:
    nothing = np.empty(0, np.int64)
    assert curves(nothing, nothing, nothing).key.tolist() == []


def test_each_stream_has_its_own_queue(tmp_path: Path) -> None:
    # On the first stream two launches wait: 0 to 20 and 10 to 40, so 20 us with one and 10 us with two of them.
    case = Case()
    case.step(1, 0, 200)
    case.launch((0, 5), (20, 40))
    case.launch((10, 15), (40, 60))
    case.launch((30, 35), (50, 70), stream=OTHER_STREAM)
    answer = launches(case.store(tmp_path)).data
    first, second = answer.queue
    assert (first.track, first.stream, first.launches, first.changes) == (STREAM, "stream 7", 2, 4)
    assert (first.length_mean, first.length_max, first.empty_share, first.full_us) == (50 / 40, 2, 0.0, 0.0)
    assert (first.outstanding_mean, first.outstanding_max) == ((40 + 50) / 60, 2)
    assert (second.stream, second.length_mean, second.length_max) == ("stream 8", 1.0, 1)
    # All streams together: 0 to 20, 10 to 40 and 30 to 50.
    assert (answer.steps[0].queue_mean, answer.steps[0].queue_max) == (70 / 50, 2)


def test_time_at_a_full_queue_is_reported(tmp_path: Path) -> None:
    # 1030 calls, one per microsecond; nothing starts before 2000, then one kernel each microsecond.
    case = Case()
    case.step(1, 0, 5000)
    for number in range(1030):
        case.slices.append(
            {"slice": 1 + 2 * number, "name": "cudaLaunchKernel", "kind": "runtime", "start_ns": number * 1000}
        )
        case.slices[-1] |= {"dur_ns": 500, "track": 0, "row": 1, "step": 1}
        case.slices.append({"slice": 2 + 2 * number, "name": "k", "kind": "kernel", "start_ns": (2000 + number) * 1000})
        case.slices[-1] |= {"dur_ns": 1000, "track": STREAM, "row": 0, "step": 1}
        case.link("launch", 1 + 2 * number, 2 + 2 * number)
    (queue,) = launches(case.store(tmp_path)).data.queue
    # At least 1024 wait from the 1024th call at 1023 us until the 7th kernel starts at 2006 us.
    assert (queue.length_max, queue.full_us) == (1030, 2006 - 1023.0)
    assert queue.full_share == pytest.approx((2006 - 1023) / 3029)
