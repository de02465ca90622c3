"""Record one step as the profiler would: slices on host ticks, device work, memory, flows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kineto_text import (
    COMM_STREAMS,
    COMPUTE_STREAM,
    ITEM_TYPES,
    ROOT_FRAMES,
    Group,
    Setting,
    Shape,
    Track,
    comm_fields,
    op_inputs,
)

Ints = NDArray[np.int64]
Body = Callable[[], None]
Call = tuple[str, str, float]  # category, callback id, mean ns

GROUPS = ("ops", "memory", "backward ops", "backward memory", "python", "device", "notes")
# Sections held in thousandths of the printed unit: ns for us, MB/s for GB/s.
MILLI = ("host", "host dur", "device", "device dur", "note", "note dur", "bandwidth")
DEVICE_HEAP, HOST_HEAP, SEGMENT = 139_796_756_299_776, 94_322_010_000_000, 2 << 20
MODEL_BYTES = 7_405_736_960  # allocated before the first step


class Pace(NamedTuple):
    """Mean host ns before a slice opens, inside one without children, and after the last child."""

    enter: float
    leaf: float
    leave: float


OP, FRAME = Pace(4500, 4000, 2400), Pace(1000, 450, 800)
NOTE, NODE = Pace(6000, 900, 2500), Pace(12_000, 1300, 3500)


class Heap:
    """A caching allocator: freed addresses serve the next request of the same size."""

    def __init__(self, base: int, allocated: int) -> None:
        self.top, self.allocated, self.peak = base, allocated, allocated
        self.live: dict[str, list[tuple[int, int]]] = {}
        self.cached: dict[int, list[int]] = {}

    def take(self, shape: str, size: int) -> tuple[int, int]:
        if not self.cached.get(size):
            self.cached.setdefault(size, []).append(self.top)
            self.top += -(-size // SEGMENT) * SEGMENT
        block = (self.cached[size].pop(), size)
        self.live.setdefault(shape, []).append(block)
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        return block

    def give(self, shape: str) -> tuple[int, int] | None:
        if not self.live.get(shape):
            return None
        addr, size = self.live[shape].pop()
        self.cached[size].append(addr)
        self.allocated -= size
        return addr, -size


class Work(NamedTuple):
    """One device activity of an API call; `details` is the end of its args."""

    cat: str
    name: str
    stream: int
    ns: float
    details: str
    nbytes: int = 0
    graph_node: int = 0


class Recorder:
    """Templates of one step per group, mean gaps of the host, device work and what it waits for.

    Host time is one list of ticks. A slice is two of them, so slices nest by construction, and the
    autograd thread can share the list because the main thread is blocked while it runs.
    """

    def __init__(self, setting: Setting, shapes: dict[str, Shape], calls: dict[str, Call]) -> None:
        self.setting, self.shapes, self.calls = setting, shapes, calls
        self.layers = self.layer = 0
        self.groups = {name: Group(setting) for name in GROUPS}
        self.size: Counter[str] = Counter({"step": 1, "reserved": 1})
        self.gaps: list[float] = []
        self.opens: list[int] = []
        self.closes: list[int] = []
        self.touching: list[int] = []  # ticks of slices that may start where a sibling ended
        self.last_close = -1
        self.tid = setting.pid
        self.ops: list[int] = []  # open operators, by external id
        self.notes: list[int] = []  # open annotations
        self.frames: list[int] = []  # open Python frames
        self.collective = ("", "", 0, 0, 0)
        self.named_notes: list[tuple[str, int]] = []
        self.note_works: dict[tuple[int, int], list[int]] = {}  # (note, stream): first and last work
        self.works: list[tuple[int, Work, int]] = []  # tick of the call, what runs, work it waits for
        self.syncs: list[tuple[int, int]] = []  # works launched so far, tick that waits for them
        self.waits: dict[int, int] = {}
        self.last_work: dict[int, int] = {}
        self.launches = self.graph_launches = 0
        self.heaps = (Heap(DEVICE_HEAP, MODEL_BYTES), Heap(HOST_HEAP, 0))

    def finish(self) -> None:
        self.tick(6000)
        group = self.groups["notes"]
        for span, (note, stream) in enumerate(self.note_works):
            name, ext = self.named_notes[note]
            rows = group.slice("gpu_user_annotation", name, (self.setting.device, stream), "note", span)
            group.add(rows, f'"External id": {group.num("ext", ext)}')
        self.size["host"] = self.size["host dur"] = len(self.opens)
        self.size["device"] = self.size["device dur"] = self.size["bandwidth"] = len(self.works)
        self.size["note"] = self.size["note dur"] = len(self.note_works)
        self.size["ev"] = max(group.indexed for group in self.groups.values())
        self.size["seq"] += 1  # the last wrapper may show a number that nobody records
        offsets: dict[str, int] = {}
        end = 0
        for name in self.size:
            for part in (name, name + " rest") if name in MILLI else (name,):
                offsets[part], end = end, end + self.size[name]
        for group in self.groups.values():
            group.close(offsets)
        self.reserved = self.heaps[0].top - DEVICE_HEAP + MODEL_BYTES
        self.gap_ns, self.touching_ticks = np.array(self.gaps), np.array(self.touching)
        self.work_ticks = np.array([tick for tick, _, _ in self.works])
        self.work_ns = np.array([work.ns for _, work, _ in self.works])
        self.work_bytes = np.array([work.nbytes for _, work, _ in self.works])
        self.comm_works = [i for i, (_, work, _) in enumerate(self.works) if work.stream in COMM_STREAMS]
        self.note_bounds = np.array(list(self.note_works.values())).T
        streams = np.array([work.stream for _, work, _ in self.works])
        long = (self.work_ns > 8000) & (streams == COMPUTE_STREAM)
        self.can_overlap = long & np.roll(long, 1) & (np.arange(len(long)) > 0)

    def render(self, group: Group, values: dict[str, Ints]) -> str:
        pool: list[Ints] = []
        for name in self.size:
            pool += divmod(values[name], 1000) if name in MILLI else (values[name],)
        return group.template % tuple(np.concatenate(pool)[group.gather].tolist())

    # Host slices

    def take(self, section: str) -> int:
        self.size[section] += 1
        return self.size[section] - 1

    def tick(self, ns: float) -> int:
        self.gaps.append(ns)
        return len(self.gaps) - 1

    @contextmanager
    def inside(self, pace: Pace) -> Iterator[int]:
        span, after_sibling = len(self.opens), len(self.gaps) - 1 == self.last_close
        self.opens.append(self.tick(pace.enter))
        self.closes.append(-1)
        if after_sibling:
            self.touching.append(self.opens[span])
        yield span
        leaf = len(self.gaps) == self.opens[span] + 1
        self.closes[span] = self.last_close = self.tick(pace.leaf if leaf else pace.leave)

    @property
    def track(self) -> Track:
        return self.setting.pid, self.tid

    def group(self, name: str) -> Group:
        return self.groups[name if self.tid == self.setting.pid else "backward " + name]

    @contextmanager
    def op_slice(
        self,
        name: str,
        pace: Pace,
        inputs: str,
        seq: int | None = None,
        flow_end: str = "",
        record: tuple[int, int] | None = None,
    ) -> Iterator[None]:
        group, ext = self.group("ops"), self.take("ext")
        with self.inside(pace) as span:
            rows = group.slice("cpu_op", name, self.track, "host", span)
            args, plain, order = f'"External id": {group.num("ext", ext)},', '"Record function id": 0, ', ""
            if seq is not None:
                forward_thread = int(self.tid != self.setting.pid)
                order = f'"Sequence number": {group.num("seq", seq)}, "Fwd thread id": {forward_thread}, '
            if inputs:
                args += order + plain + op_inputs(inputs, self.shapes, self.layers)
            else:
                args += plain + order
            if name == "record_param_comms":
                args += comm_fields(group, self.collective) + ", "
            group.add(rows, args + group.ev_idx())
            if record:
                group.flow(flow_end, "fwdbwd", ("flow", record[1]), self.track, ("host", span))
            self.ops.append(ext)
            yield
            self.ops.pop()

    def note(self, name: str, body: Body) -> None:
        group, ext = self.group("ops"), self.take("ext")
        with self.inside(NOTE) as span:
            rows = group.slice("user_annotation", name, self.track, "host", span)
            ids = f'"External id": {group.num("ext", ext)},"Record function id": 0, '
            group.add(rows, ids + group.ev_idx())
            self.named_notes.append((name, ext))
            self.notes.append(len(self.named_notes) - 1)
            body()
            self.notes.pop()

    def frame(self, name: str, extra: str, body: Body) -> None:
        if not self.setting.stacks:
            body()
            return
        group, me = self.groups["python"], self.take("py")
        with self.inside(FRAME) as span:
            rows = group.slice("python_function", name, self.track, "host", span)
            parent = group.num("py", self.frames[-1]) if self.frames else str(len(ROOT_FRAMES))
            ids = f'"Python parent id": {parent}, "Python id": {group.num("py", me)}, {extra}'
            group.add(rows, ids + group.ev_idx())
            self.frames.append(me)
            body()
            self.frames.pop()

    def memory(self, grow: bool, shape: str) -> None:
        if shape == "all":
            for name, blocks in self.heaps[0].live.items():
                for _ in range(len(blocks)):
                    self.memory(False, name)
            return
        on_host = shape.startswith("cpu_")
        heap, (dtype, dims) = self.heaps[on_host], self.shapes[shape]
        size = -(-math.prod(dims) * ITEM_TYPES[dtype][0] // 512) * 512
        block = heap.take(shape, size) if grow else heap.give(shape)
        if block is None or not self.setting.memory:
            return
        group, span = self.group("memory"), len(self.opens)
        self.opens.append(self.tick(1500))
        self.closes.append(-1)
        group.counts["i", "cpu_instant_event"] += 1
        rows = [['"ph": "i"', '"cat": "cpu_instant_event"', '"s": "t"', '"name": "[memory]"']]
        rows += [[f'"pid": {self.setting.pid}', f'"tid": {self.tid}'], [f'"ts": {group.milli("host", span)}']]
        reserved = "0" if on_host else group.num("reserved", 0)
        device, device_type = (-1, 0) if on_host else (self.setting.device, 1)
        group.add(
            rows,
            f'"Total Reserved": {reserved}, "Total Allocated": {heap.allocated}, "Bytes": {block[1]}, '
            f'"Device Id": {device}, "Device Type": {device_type}, "Addr": {block[0]}, "finished": false, '
            f"{group.ev_idx()}",
        )

    # Device side

    def api(self, name: str, works: Sequence[Work] = (), sync: tuple[str, int] | None = None) -> None:
        """One runtime or driver call, after its device activities as the profiler writes them."""
        cat, cbid, ns = self.calls[name]
        group, correlation = self.groups["device"], self.size["corr"]
        self.size["corr"] += 1 + len(self.gaps) % 9  # real ids have holes
        with self.inside(Pace(3000, ns, 250)) as span:
            if sync:
                self.sync(group, correlation, *sync)
        for work in works:
            self.device(group, work, self.opens[span], correlation)
        rows = group.slice(cat, name, self.track, "host", span)
        group.add(rows, f'{self.ext(group)}"cbid": {cbid}, "correlation": {group.num("corr", correlation)}')
        # A call that launches nothing still gets an end of flow, never a start.
        group.flow("s" if works else "f", "ac2g", ("corr", correlation), self.track, ("host", span))
        self.launches += bool(works)
        self.graph_launches += name == "cudaGraphLaunch"

    def ext(self, group: Group) -> str:
        return f'"External id": {group.num("ext", self.ops[-1])},      ' if self.ops else "      "

    def device(self, group: Group, work: Work, tick: int, correlation: int) -> None:
        index, track = len(self.works), (self.setting.device, work.stream)
        self.works.append((tick, work, self.waits.pop(work.stream, -1)))
        self.last_work[work.stream] = index
        for note in self.notes:
            self.note_works.setdefault((note, work.stream), [index, index])[1] = index
        rows = group.slice(work.cat, work.name, track, "device", index)
        args = "      " if work.graph_node else self.ext(group)
        args += '"queued": 0, ' if work.cat == "kernel" else ""
        args += f'"device": {self.setting.device}, "context": 1,      "stream": {work.stream}, '
        args += f'"correlation": {group.num("corr", correlation)},      {work.details}'
        if work.nbytes:
            args += group.milli("bandwidth", index)
        if work.stream in COMM_STREAMS:
            args += ",      " + comm_fields(group, self.collective)
        group.add(rows, args)
        group.flow("f", "ac2g", ("corr", correlation), track, ("device", index))

    def sync(self, group: Group, correlation: int, kind: str, stream: int) -> None:
        with self.inside(Pace(150, 500, 0)) as span:
            pass
        if kind in ("Stream Sync", "Context Sync"):
            self.syncs.append((len(self.works), self.closes[span]))
        track = (self.setting.device, abs(stream))  # the writer drops the sign of stream -1
        rows = group.slice("cuda_sync", kind, track, "host", span)
        args = f'"External id": {group.num("corr", correlation)},      "cuda_sync_kind": "{kind}",      '
        if "Event" in kind:
            args += '"wait_on_stream": -1,      "wait_on_cuda_event_record_corr_id": -1,      '
            args += f'"wait_on_cuda_event_id": {10 + self.layer * 3},      '
        args += f'"stream": {stream}, "correlation": {group.num("corr", correlation)},      '
        group.add(rows, args + f'"device": {self.setting.device}, "context": 1')
        group.flow("f", "ac2g", ("corr", correlation), track, ("host", span))
