"""A small discrete-event model of an input pipeline: workers, bounded queues, a sink thread, a training loop.

Every curve is caused by the service times of the stages. ``tables`` writes what happened as the readers would.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

Mode = Literal["sink", "feed"]
Times = dict[str, int]
Process = Generator[Any, Any, None]

OPS: Final = {"read": 3, "map": 2, "shuffle": 1, "batch": 0}
KINDS: Final = {"read": "ImageFolder", "map": "Map", "shuffle": "Shuffle", "batch": "Batch"}
DEVICE_QUEUE: Final = -1
#: Microseconds; read, map and shuffle per sample, the others per batch. Training is the slowest.
USUAL: Final[Times] = {
    "read": 100,
    "map": 300,
    "shuffle": 80,
    "batch": 700,
    "transfer": 900,
    "user": 300,
    "getnext": 20,
    "train": 4000,
}


def name_of(stage: str) -> str:
    """As MindSpore's files name it."""
    return f"{KINDS[stage]}(id={OPS[stage]})"


@dataclass
class Queue:
    """Bounded; ``log`` holds its fill after each change."""

    capacity: int
    items: deque[Any] = field(default_factory=deque)
    takers: deque[Process] = field(default_factory=deque)
    givers: deque[tuple[Process, Any]] = field(default_factory=deque)
    log: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])


class World:
    """Steps through events. A process yields a time to pass, a queue to take from, or a queue and an item to give."""

    def __init__(self) -> None:
        self.now = 0
        self._events: list[tuple[int, int, Process, Any]] = []
        self._order = itertools.count()

    def later(self, process: Process, after: int = 0, value: Any = None) -> None:
        heapq.heappush(self._events, (self.now + after, next(self._order), process, value))

    def run(self) -> None:
        while self._events:
            self.now, _, process, value = heapq.heappop(self._events)
            try:
                wish = process.send(value)
            except StopIteration:
                continue
            if isinstance(wish, int):
                self.later(process, wish)
            elif isinstance(wish, Queue):
                self._take(process, wish)
            else:
                self._give(process, *wish)

    def _take(self, process: Process, queue: Queue) -> None:
        if not queue.items:
            queue.takers.append(process)
            return
        self.later(process, value=queue.items.popleft())
        if queue.givers:
            giver, item = queue.givers.popleft()
            queue.items.append(item)
            self.later(giver)
        queue.log.append((self.now, len(queue.items)))

    def _give(self, process: Process, queue: Queue, item: Any) -> None:
        if queue.takers:
            self.later(queue.takers.popleft(), value=item)
            self.later(process)
        elif len(queue.items) < queue.capacity:
            queue.items.append(item)
            queue.log.append((self.now, len(queue.items)))
            self.later(process)
        else:
            queue.givers.append((process, item))


@dataclass(frozen=True)
class Job:
    """What is modelled. ``written_us`` is how coarse batch times are written; MindSpore writes milliseconds."""

    mode: Mode
    times: Times
    workers: dict[str, int] = field(default_factory=lambda: {"map": 2})
    capacity: int = 16
    batch_size: int = 8
    batches: int = 60
    jitter: float = 0.1
    seed: int = 1
    look_us: int = 3000
    written_us: int = 1000
    cores: int = 8
    first_train_us: int = 0  # the first step compiles
    #: MindSpore's pipeline files have the host's clock, step traces the device's.
    device_clock_ns: int = 10**15

    def slow(self, **times: int) -> Job:
        return replace(self, times={**self.times, **times})


@dataclass
class Taken:
    """A step of the training loop, in microseconds."""

    asked: int
    got: int
    fill: int
    copied: tuple[int, int]
    forward: int
    end: int


class Model:
    """A job that has run."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.queues = {stage: Queue(job.capacity) for stage in OPS}
        self.device = Queue(4)
        self.busy: dict[str, list[tuple[int, int]]] = {stage: [] for stage in OPS}
        self.batches: list[dict[str, int]] = []
        self.steps: list[Taken] = []
        self._world = World()
        self._dice = random.Random(job.seed)
        self._start()
        self._world.run()

    @property
    def period_us(self) -> float:
        """Of the second half, from end to end."""
        ends = [step.end for step in self.steps][len(self.steps) // 2 :]
        return (ends[-1] - ends[0]) / (len(ends) - 1)

    def _start(self) -> None:
        samples = iter(range(self.job.batches * self.job.batch_size))
        for _ in range(self.job.workers.get("read", 1)):
            self._world.later(self._reader(samples))
        for stage, before in (("map", "read"), ("shuffle", "map")):
            for _ in range(self.job.workers.get(stage, 1)):
                self._world.later(self._worker(stage, self.queues[before], 1))
        for _ in range(self.job.workers.get("batch", 1)):
            self._world.later(self._worker("batch", self.queues["shuffle"], self.job.batch_size))
        if self.job.mode == "sink":
            self._world.later(self._sink())
        self._world.later(self._training())

    def _lasts(self, stage: str) -> int:
        spread = self.job.jitter
        return max(round(self.job.times[stage] * self._dice.uniform(1 - spread, 1 + spread)), 1)

    def _works(self, stage: str) -> Process:
        start = self._world.now
        yield self._lasts(stage)
        self.busy[stage].append((start, self._world.now))

    def _reader(self, samples: Iterator[int]) -> Process:
        for sample in samples:
            yield from self._works("read")
            yield self.queues["read"], sample

    def _worker(self, stage: str, before: Queue, takes: int) -> Process:
        while True:
            for _ in range(takes):
                item = yield before
            yield from self._works(stage)
            yield self.queues[stage], item

    def _sink(self) -> Process:
        host = self.queues["batch"]
        while True:
            asked, fill = self._world.now, len(host.items)
            item = yield host
            got = self._world.now
            yield self._lasts("transfer")
            yield self.device, item
            self._batch(asked, got, self._world.now, fill)

    def _batch(self, asked: int, got: int, pushed: int, fill: int) -> None:
        asked, got, pushed = (self._written(us) for us in (asked, got, pushed))
        row = {"get": got - asked, "push": pushed - got, "total": pushed - asked, "fill": fill, "time": pushed}
        self.batches.append(row)

    def _training(self) -> Process:
        sink = self.job.mode == "sink"
        queue = self.device if sink else self.queues["batch"]
        world = self._world
        for _ in range(self.job.batches):
            if sink:
                yield self._lasts("user")
            asked, fill = world.now, len(queue.items)
            yield queue
            got = world.now
            if not sink:
                self._batch(asked, got, got, fill)
                yield self._lasts("user")
            start = world.now
            yield self._lasts("getnext" if sink else "transfer")
            forward = world.now
            yield self._lasts("train") if self.steps else max(self._lasts("train"), self.job.first_train_us)
            self.steps.append(Taken(asked, got, fill, (start, forward), forward, world.now))

    # --- what the readers would have written ---

    def tables(self) -> dict[str, Any]:
        """All tables of the run, as rows for ``make_store``."""
        return {
            "pipeline_ops": self._op_rows(),
            "pipeline_samples": self._sample_rows(),
            "pipeline_batches": self._batch_rows(),
            "cpu": self._cpu_rows(),
            "steps": self._step_rows(),
            "slices": self._slice_rows(),
            "tracks": [{"track": 9, "kind": "counter", "name": self._clock, "process": "data pipeline"}],
            "counters": [{"track": 9, "time_ns": row["time"] * 1000, "value": row["fill"]} for row in self.batches],
        }

    @property
    def _clock(self) -> str:
        return "host queue" if self.job.mode == "sink" else "iterator queue"

    def _written(self, us: int) -> int:
        return us // self.job.written_us * self.job.written_us

    def _op_rows(self) -> list[dict[str, Any]]:
        above = {"read": 2, "map": 1, "shuffle": 0, "batch": None}
        rows: list[dict[str, Any]] = [
            {
                "op": op,
                "name": name_of(stage),
                "kind": KINDS[stage],
                "parent": above[stage],
                "workers": self.job.workers.get(stage, 1),
                "capacity": self.job.capacity,
                "sink": False,
            }
            for stage, op in OPS.items()
        ]
        if self.job.mode == "sink":
            rows.append({"op": DEVICE_QUEUE, "name": "device queue", "kind": "DeviceQueue", "sink": True})
        return rows

    def _looks(self) -> list[int]:
        return list(range(self.job.look_us, self.steps[-1].end, self.job.look_us))

    def _sample_rows(self) -> list[dict[str, Any]]:
        rows = []
        for stage, op in OPS.items():
            times, fills = np.array(self.queues[stage].log).T
            found = fills[np.searchsorted(times, self._looks(), side="right") - 1]
            rows += [
                {"op": op, "time_ns": time * 1000, "queue": int(fill)}
                for time, fill in zip(self._looks(), found, strict=True)
            ]
        if self.job.mode == "sink":
            rows += [{"op": DEVICE_QUEUE, "time_ns": self._device(step.got), "queue": step.fill} for step in self.steps]
        return rows

    def _batch_rows(self) -> list[dict[str, Any]]:
        parts = ("get", "push", "total")
        return [
            {f"{part}_us": float(row[part]) for part in parts}
            | {"batch": number, "queue": row["fill"], "capacity": self.job.capacity}
            for number, row in enumerate(self.batches, 1)
        ]

    def _cpu_rows(self) -> list[dict[str, Any]]:
        rows = []
        looks = np.array([0, *self._looks()])
        total = np.zeros(len(looks) - 1)
        for stage, op in OPS.items():
            start, end = np.array(self.busy[stage]).T
            worked = np.clip(looks[:, None] - start, 0, end - start).sum(axis=1)
            cores = np.diff(worked) / self.job.look_us
            total += cores
            rows += [
                {"time_ns": int(time) * 1000, "scope": "op", "id": op, "user": float(used), "system": 0.0}
                for time, used in zip(looks[1:], cores, strict=True)
            ]
        for time, used in zip(looks[1:], total, strict=True):
            moment = {"time_ns": int(time) * 1000, "user": float(used), "system": 0.0}
            rows.append({**moment, "scope": "machine", "io": 0.0, "idle": self.job.cores - float(used), "runnable": 2})
            rows.append({**moment, "scope": "process"})
        return rows

    def _device(self, us: int) -> int:
        return us * 1000 + self.job.device_clock_ns

    def _step_rows(self) -> list[dict[str, Any]]:
        rows, before = [], 0
        for number, step in enumerate(self.steps, 1):
            start, forward, end = (self._device(us) for us in (before, step.forward, step.end))
            rows.append(
                {
                    "step": number,
                    "host_start_ns": start,
                    "host_end_ns": end,
                    "device_start_ns": forward,
                    "device_end_ns": end,
                    "forward_start_ns": forward,
                    "backward_end_ns": end,
                    "marks_from": "step_trace",
                    "warm_up": number == 1,
                }
            )
            before = step.end
        return rows

    def _slice_rows(self) -> list[dict[str, Any]]:
        rows = []
        for number, step in enumerate(self.steps, 1):
            parts: list[tuple[str, str, str | None, int, int]] = [("kernel", "MatMul", None, step.forward, step.end)]
            if self.job.mode == "sink":
                parts.append(("wait", "GetNext_dequeue_wait", "data", step.asked, step.got))
                parts.append(("kernel", "GetNext", "data", *step.copied))
            else:
                parts.append(("copy", "Memcpy HtoD", None, *step.copied))
            rows += [
                {
                    "kind": kind,
                    "name": name,
                    "phase": phase,
                    "step": number,
                    "start_ns": self._device(start),
                    "dur_ns": (end - start) * 1000,
                }
                for kind, name, phase, start, end in parts
            ]
        return rows
