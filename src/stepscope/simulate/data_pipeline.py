"""The input pipeline: stages with workers and bounded queues between them.

A worker takes a batch from the queue before it, works on it, and keeps it until there is room in the queue behind it.
So the throughput of the whole is that of its slowest stage, and a slow consumer fills all queues.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from stepscope.arrays import Float64s, Int64s
from stepscope.simulate.scenario import Stage

_NEVER: Final = 1 << 60


@dataclass
class InputPipeline:
    """The pipelines of some ranks. Lists are by stage, then by batch; arrays by rank."""

    stages: tuple[Stage, ...]
    ranks: int
    begun: list[list[Int64s]] = field(default_factory=list)  # when a worker took the batch
    done: list[list[Int64s]] = field(default_factory=list)  # when the worker was done with it
    put: list[list[Int64s]] = field(default_factory=list)  # when it lay in the queue behind the stage
    taken: list[list[Int64s]] = field(default_factory=list)  # when it left that queue
    asked: list[Int64s] = field(default_factory=list)  # when the training asked for the batch

    def __post_init__(self) -> None:
        for times in (self.begun, self.done, self.put, self.taken):
            times += [[] for _ in self.stages]

    def next_batch(self, factors: Float64s) -> Int64s:
        """When the next batch is ready; ``factors`` (stages, ranks) are on the work of each stage.

        Tell :meth:`take` when it is taken, before the next is asked for.
        """
        number = len(self.put[0])
        ready = np.zeros(self.ranks, np.int64)
        for stage_index, stage in enumerate(self.stages):
            begin, work = ready, np.rint(stage.us * 1000 * factors[stage_index]).astype(np.int64)
            if number < stage.workers:
                begin = np.maximum(begin, work * number // stage.workers)  # workers run out of step with each other
            else:
                begin = np.maximum(begin, self.put[stage_index][number - stage.workers])
            self.begun[stage_index].append(begin)
            if stage_index:
                self.taken[stage_index - 1].append(begin)
            ready = begin + work
            self.done[stage_index].append(ready)
            if number >= stage.capacity:
                ready = np.maximum(ready, self.taken[stage_index][number - stage.capacity])
            self.put[stage_index].append(ready)
        return ready

    def take(self, asked: Int64s, moment: Int64s) -> None:
        """The batch that is ready next was asked for and is taken."""
        self.asked.append(asked)
        self.taken[-1].append(moment)

    def run_on(self, factors: Float64s) -> None:
        """Let the stages work on what they can before anybody asks for it: those batches lie in queues, too."""
        for _ in range(sum(stage.capacity + stage.workers for stage in self.stages)):
            self.next_batch(factors)
            never = np.full(self.ranks, _NEVER, np.int64)
            self.take(never, never)

    def fill(self, stage: int, rank: int, moments: Int64s) -> Int64s:
        """Batches in the queue behind a stage at some moments."""
        put, taken = (np.sort([batch[rank] for batch in times[stage]]) for times in (self.put, self.taken))
        return np.asarray(np.searchsorted(put, moments, "right") - np.searchsorted(taken, moments, "right"), np.int64)

    def busy(self, stage: int, rank: int, edges: Int64s) -> Int64s:
        """Nanoseconds that the workers of a stage worked between each two edges."""
        start = np.array([batch[rank] for batch in self.begun[stage]], np.int64)
        end = np.array([batch[rank] for batch in self.done[stage]], np.int64)
        low, high = edges[:-1, None], edges[1:, None]
        return np.asarray(np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None).sum(axis=1), np.int64)
