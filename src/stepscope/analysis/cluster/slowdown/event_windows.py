"""The events of all ranks of a job, a few steps at a time: those of large jobs lie in a temporary directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stepscope.analysis.cluster.calls.scratch import scratch_directory
from stepscope.analysis.cluster.slowdown.rank_chain import ENDS, NO_CALL, STARTS_BEHIND, RankChain
from stepscope.arrays import Int64s

#: Fields as in ``RankChain``; ``rank`` counts the ranks that were added.
EVENT: Final = np.dtype(
    [("rank", "i4"), ("kind", "i1"), ("call", "i4"), ("step", "i4"), ("behind", "i4"), ("busy", "i8"), ("gap", "i8")]
)
Events = npt.NDArray[Any]
_AT_ONCE: Final = 1 << 17
_BEYOND: Final = -1


class EventWindows:
    """Ranks are added in their order; then windows are read, in the order of steps, as often as needed."""

    def __init__(self, calls: int) -> None:
        self.ranks: list[int] = []
        self.recorded: list[Int64s] = []
        #: Of each call, how many members start it, and how many events wait for its end.
        self.members, self.waiting = np.zeros(calls, np.int32), np.zeros(calls, np.int32)
        self._steps: set[tuple[int, ...]] = set()
        self._parts: dict[int, list[Events]] = {}
        self._counts: dict[int, int] = {}
        self._held = 0
        self._directory: Path | None = None

    @property
    def steps(self) -> int | None:
        """How many steps all ranks recorded; None where they recorded different ones."""
        return len(next(iter(self._steps))) if len(self._steps) == 1 else None

    def add(self, rank: int, chain: RankChain) -> None:
        """The events of one more rank."""
        events = np.empty(len(chain.kind), EVENT)
        events["rank"] = len(self.ranks)
        for name in EVENT.names[1:]:  # type: ignore[index]
            events[name] = getattr(chain, name)
        self.ranks.append(rank)
        self.recorded.append(chain.recorded)
        self._steps.add(tuple(chain.steps.tolist()))
        starts = (chain.kind != ENDS) & (chain.call != NO_CALL)
        np.add.at(self.members, chain.call[starts], 1)
        np.add.at(self.waiting, chain.call[chain.kind == ENDS], 1)
        np.add.at(self.waiting, chain.behind[chain.kind == STARTS_BEHIND], 1)
        edges = np.flatnonzero(np.diff(chain.step)) + 1  # events are in the order of time
        for part in np.split(events, edges):
            if len(part):
                step = int(part["step"][0])
                self._parts.setdefault(step, []).append(part)
                self._counts[step] = self._counts.get(step, 0) + len(part)
        self._held += len(events)
        if self._held > _AT_ONCE:
            self._write()

    def windows(self) -> Iterator[Events]:
        """Events of some steps, those of each rank one after the other and in the order of time."""
        steps: list[int] = []
        for step in sorted(self._counts, key=lambda each: (each == _BEYOND, each)):
            if steps and sum(self._counts[each] for each in (*steps, step)) > _AT_ONCE:
                yield self._read(steps)
                steps = []
            steps.append(step)
        if steps:
            yield self._read(steps)

    def _read(self, steps: list[int]) -> Events:
        parts = []
        for step in steps:
            if self._directory is not None and (file := self._file(step)).exists():
                parts.append(np.fromfile(file, EVENT))
            parts += self._parts.get(step, [])
        events = np.concatenate(parts)
        return events[np.argsort(events["rank"], kind="stable")]

    def _write(self) -> None:
        if self._directory is None:
            self._directory = scratch_directory(self)
        for step, parts in self._parts.items():
            with self._file(step).open("ab") as file:
                for part in parts:
                    file.write(part.tobytes())
        self._parts.clear()
        self._held = 0

    def _file(self, step: int) -> Path:
        assert self._directory is not None
        return self._directory / f"{step}.events"
