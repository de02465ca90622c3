"""The launch queue of many ranks is that of each rank by itself."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from stepscope.simulate.launch_queue import LaunchQueue


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_rank_that_launches_nothing_keeps_its_place_in_the_queue(length: int) -> None:
    ranks, chance = 4, np.random.default_rng(length)
    queue = LaunchQueue(length, ranks)
    alone = [deque([0] * length, maxlen=length) for _ in range(ranks)]
    for moment in range(1, 200):
        launched = chance.random(ranks) < chance.choice([0.0, 0.4, 1.0])
        start = moment * 10 + np.arange(ranks)
        queue.add(start, None if launched.all() else launched)
        for rank in np.flatnonzero(launched).tolist():
            alone[rank].append(int(start[rank]))
        assert queue.room().tolist() == [each[0] for each in alone]
