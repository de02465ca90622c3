"""The graph of all steps of a rank, and the little of it that a replay of many ranks has to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.foundation.capture_limits import compute_is_hidden
from stepscope.analysis.foundation.periods import NEVER, Periods, periods_of
from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.analysis.foundation.work import COMPUTE, work_of
from stepscope.analysis.replay.rank_graph import RankGraph, rank_graph
from stepscope.arrays import Int32s, Int64s
from stepscope.store.run_store import RunStore


@cached_per_rank
def whole_rank(store: RunStore, rank: int) -> RankGraph | None:
    """The graph of a rank; None where nothing was recorded that could be replayed.

    Of many ranks only some are held. Who asks again for one that is gone waits until it is made again.
    """
    periods, work = periods_of(store, rank), work_of(store, rank)
    if not len(periods.step) or compute_is_hidden(store, rank) or not work.of(COMPUTE).any():
        return None
    window = (int(periods.start.min()), int(periods.end.max()))
    part = rank_graph(store, rank, work, window, _loop_moments(periods, on_device=work.on_device))
    return part if part.tells and window[0] < window[1] else None


def _loop_moments(periods: Periods, *, on_device: bool) -> Int64s:
    """Moments of the training loop that tell how long steps take: with a device, only where it has nothing to do.

    The end of its work often lies in a call that waits for it, which would then seem to be busy until that moment.
    """
    if on_device:
        stalls: Int64s = periods.end[periods.work_end == NEVER]
        return stalls
    return np.concatenate((periods.start, periods.end))


@dataclass(frozen=True)
class StepNodes:
    """Nodes of a rank that tell how long its steps take: ``ends`` of work on the device, or both ends of each step."""

    steps: int
    step_of_end: Int32s
    ends: Int32s
    starts: Int32s | None  # of each step, where the host computes by itself; ``ends`` are then one per step

    @classmethod
    def of(cls, part: RankGraph, periods: Periods) -> StepNodes:
        """By the same rule as the recorded periods (foundation/periods.py)."""
        count = len(periods.step)
        if not part.on_device:
            starts, ends = part.loop_nodes(periods.start), part.loop_nodes(periods.end)
            return cls(count, _small(np.arange(count)), _small(ends), _small(starts))
        device_step = periods.index_of(part.work.step[part.device.work])
        known = device_step >= 0
        rows = np.flatnonzero(part.work.on_host)
        host_step = periods.index_of(part.work.step[rows])
        ended, window = part.work.end[rows], part.nodes.time
        inside = (host_step >= 0) & (ended > window[0]) & (ended <= window[-1])
        on_host = part.nodes.at(part.work.thread[rows[inside]], ended[inside])
        stalls = np.flatnonzero(periods.work_end == NEVER)
        on_loop = part.loop_nodes(periods.end[stalls])
        return cls(
            count,
            _small(np.concatenate((device_step[known], host_step[inside], stalls))),
            _small(np.concatenate((part.nodes.end[known], on_host, on_loop))),
            None,
        )

    def times(self, reached: Int64s) -> Int64s:
        """How long each step takes when the nodes of the rank are reached at these moments."""
        if self.starts is not None:
            lasted: Int64s = reached[self.ends] - reached[self.starts]
            return lasted
        own = np.full(self.steps, np.iinfo(np.int64).min, np.int64)
        np.maximum.at(own, self.step_of_end, reached[self.ends])
        own = np.maximum.accumulate(np.maximum(own, reached[0]))
        return np.diff(own, prepend=reached[0])


def _small(numbers: Int64s) -> Int32s:
    return numbers.astype(np.int32)
