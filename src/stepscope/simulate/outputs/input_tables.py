"""Tables of a rank's input pipeline: stages, fill of queues, batches, processor time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.simulate.clocks import Clocks
from stepscope.simulate.data_pipeline import InputPipeline

_SAMPLES: Final = 200
_CPU_INTERVALS: Final = 20
_CORES: Final = 64
_SINK: Final = "DeviceQueue"


@dataclass(frozen=True)
class RankInput:
    """The pipeline of the rank at an index of the first stage; ``window`` is in true time."""

    pipeline: InputPipeline
    clocks: Clocks
    rank: int
    index_in_stage: int
    before: int
    steps: int
    window: tuple[int, int]

    def tables(self) -> dict[str, pl.DataFrame]:
        """``pipeline_ops``, ``pipeline_samples``, ``pipeline_batches`` and ``cpu``."""
        return {
            "pipeline_ops": self._ops(),
            "pipeline_samples": self._samples(),
            "pipeline_batches": self._batches(),
            "cpu": self._cpu(),
        }

    def _op(self, stage: int) -> int:
        """The number of a stage, counted from the last, as MindSpore's dataset engine does."""
        return len(self.pipeline.stages) - 1 - stage

    def _ops(self) -> pl.DataFrame:
        stages = self.pipeline.stages
        rows = [
            {
                "op": self._op(number),
                "name": stage.name,
                "kind": stage.kind,
                "parent": self._op(number) - 1 if self._op(number) else None,
                "workers": stage.workers,
                "capacity": stage.capacity,
                "sink": stage.kind == _SINK,
            }
            for number, stage in enumerate(stages)
        ]
        return pl.DataFrame(rows[::-1], schema_overrides={"parent": pl.Int32})

    def _samples(self) -> pl.DataFrame:
        moments = np.linspace(*self.window, _SAMPLES, endpoint=False).astype(np.int64)
        shown = self.clocks.local(self.rank, moments)
        parts = [
            pl.DataFrame(
                {"time_ns": shown, "queue": self.pipeline.fill(number, self.index_in_stage, moments)}
            ).with_columns(op=pl.lit(self._op(number)))
            for number in range(len(self.pipeline.stages))
        ]
        return pl.concat(parts).sort("time_ns", "op")

    def _batches(self) -> pl.DataFrame:
        """How long each batch of the window was waited for; in sink mode, how long the thread that pushes it needed."""
        last = len(self.pipeline.stages) - 1
        stage = self.pipeline.stages[last]
        sink = stage.kind == _SINK
        queue = last - 1 if sink and last else last
        rows: list[dict[str, Any]] = []
        for number in range(self.before, self.steps):
            put, taken = (
                int(times[last][number][self.index_in_stage]) for times in (self.pipeline.put, self.pipeline.taken)
            )
            begun = int(self.pipeline.begun[last][number][self.index_in_stage])
            free = (
                int(self.pipeline.put[last][number - stage.workers][self.index_in_stage])
                if number >= stage.workers
                else 0
            )
            waited, pushed = (
                (begun - min(free, begun), put - begun) if sink else (max(taken - self._asked(number), 0), 0)
            )
            moment = np.array([begun if sink else self._asked(number)], np.int64)
            rows.append(
                {
                    "batch": number + 1,
                    "step": number,
                    "get_us": waited / 1000,
                    "push_us": pushed / 1000,
                    "total_us": (waited + pushed) / 1000,
                    "queue": int(self.pipeline.fill(queue, self.index_in_stage, moment)[0]),
                    "capacity": self.pipeline.stages[queue].capacity,
                }
            )
        return pl.DataFrame(rows)

    def _asked(self, number: int) -> int:
        return int(self.pipeline.asked[number][self.index_in_stage])

    def _cpu(self) -> pl.DataFrame:
        edges = np.linspace(*self.window, _CPU_INTERVALS + 1).astype(np.int64)
        length = np.diff(edges)
        shown = self.clocks.local(self.rank, edges[1:])
        parts, total = [], np.zeros(len(length))
        for number in range(len(self.pipeline.stages)):
            share = self.pipeline.busy(number, self.index_in_stage, edges) / length
            total = total + share
            parts.append(self._cpu_part("op", self._op(number), share, shown, length))
        parts.append(self._cpu_part("process", 4100, total + 1.0, shown, length))
        machine = np.minimum(total + 1.0, _CORES)
        parts.append(self._cpu_part("machine", 0, machine, shown, length, idle=_CORES - machine))
        return pl.concat(parts, how="diagonal_relaxed")

    @staticmethod
    def _cpu_part(scope: str, number: int, share: Any, shown: Int64s, length: Int64s, idle: Any = None) -> pl.DataFrame:
        frame = pl.DataFrame({"time_ns": shown, "user": share, "dur_ns": length}).with_columns(
            scope=pl.lit(scope), id=pl.lit(number), system=pl.lit(0.0), io=pl.lit(0.0)
        )
        return frame if idle is None else frame.with_columns(idle=pl.Series(idle))
