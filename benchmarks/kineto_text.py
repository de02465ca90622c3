"""Text of Kineto files; events have slots where a number changes from step to step.

A slot names a section (a clock, an id counter) and an index in it, so that one gather and one string
formatting write thousands of events.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Track = tuple[int, int]  # pid, tid
Shape = tuple[str, list[int]]  # type, sizes

BASE_TIME_NS = 1_790_857_026_000_000_000
START_NS = 3_856_954_136_243_253  # relative to the base
COMPUTE_STREAM, COPY_STREAM = 7, 20
PROCESS_GROUPS = (("0", "default_pg", 24), ("1", "metrics", 28))  # name, description, stream
COMM_STREAMS = tuple(stream for _, _, stream in PROCESS_GROUPS)
ROOT_FRAMES = ("<string>(1): <module>", "train.py(233): <module>", "train.py(176): main")
ITEM_TYPES = {"float": (4, "float"), "bf16": (2, "c10::BFloat16"), "long": (8, "long int")}
PARAMETERS = ("wqkv", "bqkv", "wout", "bout", "wup", "wdown")  # of one layer
SM_COUNT, WARPS_PER_SM = 132, 64
COMM_BUFFERS = 140_010_000_000_000


@dataclass(frozen=True)
class Setting:
    """What is constant over one file."""

    layout: int
    rank: int
    world_size: int
    stacks: bool
    memory: bool

    @property
    def pid(self) -> int:
        return 4242 + self.rank

    @property
    def autograd_tid(self) -> int:
        return self.pid + 311

    @property
    def device(self) -> int:
        return self.rank % 8

    def event(self, rows: Sequence[Sequence[str]], args: str | None = None) -> str:
        """Text of one event; `rows` are its lines in layout 1, `args` the inside of the braces."""
        if self.layout == 3:
            body = ", ".join(part for row in rows for part in row)
            tail = "" if args is None else ', "args": {' + re.sub(r', *(?=")', ", ", args.strip()) + "}"
            return "{" + body + tail + "}, "
        if self.layout == 2:
            body = ",\n    ".join(part for row in rows for part in row)
            tail = "\n    " if args is None else f'\n    ,\n    "args": {{\n      {args}\n    }}'
        else:
            body = ",\n    ".join(", ".join(row) for row in rows)
            tail = "" if args is None else f',\n    "args": {{\n      {args}\n    }}'
        return f"  {{\n    {body}{tail}\n  }},\n"


class Tally(NamedTuple):
    """What was written: events by phase and category, ns of complete events by category."""

    counts: Counter[str]
    duration_ns: Counter[str]


class Group:
    """Template of one group of events. Slots must be asked for in the order of the text."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.parts: list[str] = []
        self.slots: list[tuple[str, int]] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.spans: dict[str, tuple[str, list[int]]] = {}  # category: section and indices of durations
        self.names: dict[str, set[str]] = {}
        self.indexed = 0
        self.template, self.gather = "", np.empty(0, np.int64)

    def num(self, section: str, index: int) -> str:
        self.slots.append((section, index))
        return "%d"

    def milli(self, section: str, index: int) -> str:
        self.slots += ((section, index), (section + " rest", index))
        return "%d.%03d"

    def ev_idx(self) -> str:
        self.indexed += 1
        return f'"Ev Idx": {self.num("ev", self.indexed - 1)}'

    def slice(self, cat: str, name: str, track: Track, clock: str, span: int) -> list[list[str]]:
        self.counts["X", cat] += 1
        self.spans.setdefault(cat, (clock + " dur", []))[1].append(span)
        self.names.setdefault(cat, set()).add(name)
        if "<step>" in name:
            name = name.replace("<step>", self.num("step", 0))
        head = ['"ph": "X"', f'"cat": "{cat}"', f'"name": "{name}"']
        head += [f'"pid": {track[0]}', f'"tid": {track[1]}']
        return [head, [f'"ts": {self.milli(clock, span)}', f'"dur": {self.milli(clock + " dur", span)}']]

    def add(self, rows: Sequence[Sequence[str]], args: str | None = None) -> None:
        self.parts.append(self.setting.event(rows, args))

    def flow(self, ph: str, cat: str, flow: tuple[str, int], track: Track, when: tuple[str, int]) -> None:
        self.counts[ph, cat] += 1
        head = [f'"ph": "{ph}"', f'"id": {self.num(*flow)}', f'"pid": {track[0]}', f'"tid": {track[1]}']
        head.append(f'"ts": {self.milli(*when)}')
        self.add([head, [f'"cat": "{cat}"', f'"name": "{cat}"', '"bp": "e"'][: 3 if ph == "f" else 2]])

    def close(self, offsets: Mapping[str, int]) -> None:
        self.template = "".join(self.parts)
        self.gather = np.array([offsets[section] + index for section, index in self.slots], np.int64)
        self.parts, self.slots = [], []


def op_inputs(words: str, shapes: Mapping[str, Shape], layers: int) -> str:
    """The four lists of an operator's inputs, in the profiler's order."""
    columns: list[tuple[str, str, str, str]] = []
    for word in words.split():
        dtype, dims = shapes.get(word.rstrip("'"), ("", []))
        if word[0] == "@":
            names = PARAMETERS * layers if word == "@params" else word[1:].split(",")
            tensors = [shapes[name][1] for name in names]
            columns.append(("", "TensorList", str([strides(sizes) for sizes in tensors]), str(tensors)))
        elif dtype:
            order = slice(None, None, -1 if word.endswith("'") else 1)
            columns.append(("", ITEM_TYPES[dtype][1], str(strides(dims)[order]), str(dims[order])))
        else:
            kind = "" if word == "-" else "ScalarList" if word[0] == "[" else "Scalar"
            columns.append((word.replace(",", ", ") if kind else "", kind, "[]", "[]"))
    texts, types, steps, sizes = zip(*columns, strict=True)
    return (
        f'"Concrete Inputs": [{quoted(texts)}], "Input type": [{quoted(types)}], '
        f'"Input Strides": [{", ".join(steps)}], "Input Dims": [{", ".join(sizes)}], '
    )


def strides(dims: Sequence[int]) -> list[int]:
    return [math.prod(dims[i + 1 :]) for i in range(len(dims))]


def quoted(texts: Sequence[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def kernel_details(registers: str, shared: str, grid: str, block: str, node: int, layout: int) -> str:
    blocks = int(grid) / SM_COUNT
    warps = blocks * int(block) / 32
    occupancy = 0 if int(shared) > 100_000 else min(100, int(100 * warps / WARPS_PER_SM))
    text = (
        f'"registers per thread": {registers},      "shared memory": {shared},      '
        f'"blocks per SM": {blocks:.6f},      "warps per SM": {warps:.6f},      '
        f'"grid": [{grid}, 1, 1],      "block": [{block}, 1, 1],      '
        f'"est. achieved occupancy %%": {occupancy}'
    )
    if node or layout == 2:
        text += f',      "graph id": {3 if node else 0}, "graph node id": {node}'
    if layout == 2:  # the writer that uses it also reports the channel and the limits
        text += ', "priority": 0, "channel": 8, "channel_type": "COMPUTE", "occupancy": '
        text += f'{{"activeBlocksPerMultiprocessor": {2048 // int(block)}, "limitingFactors": ["warps"]}}'
    return text


def comm_fields(group: Group, collective: tuple[str, str, int, int, int]) -> str:
    name, dtype, nelems, pg, seq = collective
    world, start = group.setting.world_size, COMM_BUFFERS + seq * (64 << 20)
    return (
        f'"Collective name": "{name}", "In msg nelems": {nelems}, '
        f'"Out msg nelems": {nelems * world if "allgather" in name else nelems}, "Group size": {world}, '
        f'"dtype": "{dtype}", "In split size": "[]", "Out split size": "[]", '
        f'"Process Group Name": "{PROCESS_GROUPS[pg][0]}", '
        f'"Process Group Description": "{PROCESS_GROUPS[pg][1]}", '
        f'"Process Group Ranks": "{list(range(world))}", "Global rank start": 0, "Global rank stride": 1, '
        f'"Rank": {group.setting.rank}, "Seq": {group.num(f"comm {pg}", seq)}, '
        f'"Comms Id": {281474976710656 + pg}, "Is asynchronized op": true, '
        f'"Input Tensors start": "[{start}]", "Output Tensors start": "[{start}]"'
    )


def micro(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def header(setting: Setting) -> str:
    world, ranks = setting.world_size, list(range(setting.world_size))
    device = {
        "name": "NVIDIA H200",
        "totalGlobalMem": 150109880320,
        "computeMajor": 9,
        "computeMinor": 0,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": 2048,
        "regsPerBlock": 65536,
        "warpSize": 32,
        "sharedMemPerBlock": 49152,
        "numSms": 132,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerBlockOptin": 232448,
        "sharedMemPerMultiprocessor": 233472,
    }
    groups = [
        {"pg_name": name, "pg_desc": text, "backend_config": "cuda:nccl", "pg_size": world, "ranks": ranks}
        for name, text, _ in PROCESS_GROUPS
    ]
    info = {
        "backend": "nccl",
        "rank": setting.rank,
        "world_size": world,
        "pg_count": len(groups),
        "pg_config": groups,
    }
    options = {"with_stack": setting.stacks, "profile_memory": setting.memory, "with_modules": setting.stacks}
    keys: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": i} | device for i in range(min(8, world))],
        "trace_id": f"{BASE_TIME_NS + setting.rank:032X}",
        "distributedInfo": info | {"nccl_version": "2.28.9"},
        "host_name": f"gpu-node-{setting.rank // 8:03d}",
        "record_shapes": 1,
        **{key: 1 for key, on in options.items() if on},
        "cuda_driver_version": 13000,
        "cuda_runtime_version": 13000,
        "cupti_version": 130001,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE_TIME_NS,
    }
    if setting.layout == 3:
        return json.dumps(keys)[:-1] + ', "traceEvents": ['
    lines = "".join(f'    "{key}": {json.dumps(value)},\n' for key, value in keys.items())
    return "\n  {\n" + lines.replace('{"id"', '\n    {"id"') + '  "traceEvents": [\n'


def root_frames(setting: Setting, end_ns: int, ev_base: int, tally: Tally) -> str:
    """Frames that were open before the first step and still are after the last one."""
    text = ""
    for depth, name in enumerate(ROOT_FRAMES):
        start = START_NS - 60_000 + depth * 2_000
        dur = end_ns + 60_000 - depth * 2_000 - start
        tally.counts["X python_function"] += 1
        tally.duration_ns["python_function"] += dur
        head = ['"ph": "X"', '"cat": "python_function"', f'"name": "{name}"', f'"pid": {setting.pid}']
        rows = [[*head, f'"tid": {setting.pid}'], [f'"ts": {micro(start)}', f'"dur": {micro(dur)}']]
        ids = f'"Python parent id": {depth or "null"}, "Python id": {depth + 1}, "Ev Idx": {ev_base + depth}'
        text += setting.event(rows, ids)
    return text


def footer(setting: Setting, end_ns: int, tally: Tally) -> str:
    begin, pid = micro(START_NS - 80_000), setting.pid
    labels: list[tuple[str, int, int, str]] = []
    for process, label, order in [(pid, "CPU", pid)] + [(i, f"GPU {i}", 5_000_000 + i) for i in range(16)]:
        labels.append(("process_name", process, 0, '"name": "python3"'))
        labels.append(("process_labels", process, 0, f'"labels": "{label}"'))
        labels.append(("process_sort_index", process, 0, f'"sort_index": {order}'))
    threads = [(setting.device, s, f"stream {s} ") for s in (COMPUTE_STREAM, COPY_STREAM, *COMM_STREAMS)]
    threads += [
        (pid, pid, f"thread {pid} (python3)"),
        (pid, setting.autograd_tid, f"thread {setting.autograd_tid} (pt_autograd_0)"),
    ]
    for process, thread, label in threads:
        labels.append(("thread_name", process, thread, f'"name": "{label}"'))
        labels.append(("thread_sort_index", process, thread, f'"sort_index": {thread}'))
    text = ""
    for name, process, thread, args in labels:
        row = [f'"name": "{name}"', '"ph": "M"', f'"ts": {begin}', f'"pid": {process}', f'"tid": {thread}']
        text += setting.event([row], args)
    dur = end_ns - START_NS + 160_000
    span = [['"ph": "X"', '"cat": "Trace"', f'"ts": {begin}', f'"dur": {micro(dur)}']]
    span += [['"pid": "Spans"', '"tid": "PyTorch Profiler"'], ['"name": "PyTorch Profiler (0)"']]
    text += setting.event(span, '"Op count": 0')
    rows = [['"name": "process_sort_index"', '"ph": "M"', f'"ts": {begin}'], ['"pid": "Spans"', '"tid": 0']]
    text += setting.event(rows, '"sort_index": 536870912')
    rows = [['"name": "Iteration Start: PyTorch Profiler"', '"ph": "i"', '"s": "g"']]
    text += setting.event([*rows, ['"pid": "Traces"', '"tid": "Trace PyTorch Profiler"', f'"ts": {begin}']])
    rows = [['"name": "Record Window End"', '"ph": "i"', '"s": "g"']]
    text += setting.event([*rows, ['"pid": ""', '"tid": ""', f'"ts": {micro(end_ns + 90_000)}']])
    tally.counts.update({"M": len(labels) + 1, "X Trace": 1, "i": 2})
    tally.duration_ns["Trace"] += dur
    name = json.dumps(f"/tmp/trace_rank{setting.rank}.json")
    if setting.layout == 3:
        return text.removesuffix(", ") + f'], "traceName": {name}}}'
    return text.removesuffix(",\n") + f'\n  ],\n  "traceName": {name}\n}}'
