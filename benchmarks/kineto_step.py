"""Compile `kineto_step.txt`, the script of one training step, into templates of Kineto events.

A compiled step keeps its structure; only the numbers in its text change from step to step.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kineto_record import NODE, OP, Body, Pace, Recorder, Work
from kineto_text import COMM_STREAMS, COMPUTE_STREAM, Setting, kernel_details

TABLES = ("shapes", "calls", "kernels")  # sections of the script that are not run
STEP_SCRIPT = Path(__file__).with_name("kineto_step.txt")
GRAPH_FAMILIES = ("gemm", "triton", "triton", "gemm_bias", "pointwise", "triton", "flash", "ln")
LAUNCH_APIS = {"launch": "cudaLaunchKernel", "driver": "cuLaunchKernelEx", "triton": "cuLaunchKernel"}
SYNCS = {
    "stream": ("cudaStreamSynchronize", "Stream Sync", COMPUTE_STREAM),
    "event": ("cudaEventSynchronize", "Event Sync", -1),
    "device": ("cudaDeviceSynchronize", "Context Sync", -1),
}


@dataclass
class Line:
    text: str
    children: list[Line] = field(default_factory=list)


def read_script(path: Path = STEP_SCRIPT) -> dict[str, list[Line]]:
    sections: dict[str, list[Line]] = {}
    levels: list[list[Line]] = []
    for raw in path.read_text(encoding="ascii").splitlines():
        text = raw.strip()
        if text.startswith("#") or not text:
            continue
        if raw.startswith("["):
            levels = [sections.setdefault(text[1:-1], [])]
            continue
        del levels[(len(raw) - len(raw.lstrip())) // 2 + 1 :]
        line = Line(text)
        levels[-1].append(line)
        levels.append(line.children)
    return sections


class StepProgram(Recorder):
    """One kind of step, run from the script; `do_<verb>` methods are the script's verbs."""

    def __init__(self, script: dict[str, list[Line]], setting: Setting, layers: int, logging: bool) -> None:
        tables = {name: [line.text.split(None, 5) for line in script[name]] for name in TABLES}
        shapes = {
            name: (dtype, [int(size) for size in "".join(sizes).split(",") if size])
            for name, dtype, *sizes in tables["shapes"]
        }
        calls = {name: (cat, cbid, float(ns)) for name, cat, cbid, ns in tables["calls"]}
        super().__init__(setting, shapes, calls)
        self.kernels = {family: rest for family, *rest in tables["kernels"]}
        self.script, self.layers, self.logging = script, layers, logging
        self.site = 0
        self.records: list[tuple[int, int]] = []  # autograd records: sequence number and flow
        self.modules: Counter[str] = Counter()
        self.run(script["step"], ())
        if self.records:
            raise ValueError(f"{len(self.records)} forward records have no backward node")
        self.finish()

    def run(self, lines: list[Line], params: Sequence[str]) -> None:
        for line in lines:
            text = re.sub(r"\$(\d)", lambda match: params[int(match[1]) - 1], line.text)
            verb, _, rest = text.partition(" ")
            body = partial(self.run, line.children, params)
            if verb in LAUNCH_APIS:
                family, us = rest.split()
                self.api(LAUNCH_APIS[verb], [self.kernel(family, float(us))])
            elif hasattr(self, "do_" + verb):
                getattr(self, "do_" + verb)(rest, body)
            elif verb[0] in "+-":
                self.memory(verb[0] == "+", verb[1:])
            elif verb[0] == "@":
                self.note(text[1:], body)
            elif verb[0] == "~":
                self.node(verb, rest, body)
            else:
                self.op(verb, rest, body)

    def op(self, verb: str, rest: str, body: Body) -> None:
        seq = self.size["seq"] if verb[0] in "*." else None
        record = None
        if verb[0] == "*":
            record = (self.take("seq"), self.take("flow"))
            self.records.append(record)
        with self.op_slice(verb.lstrip("*."), OP, rest, seq, "s", record):
            body()

    def node(self, verb: str, rest: str, body: Body) -> None:
        name = verb.lstrip("~")
        record = None if verb.startswith("~~") else self.records.pop()
        seq = record[0] if record else None
        engine = self.op_slice("autograd::engine::evaluate_function: " + name, NODE, "", seq)
        with engine, self.op_slice(name, OP, rest, seq, "f", record):
            body()

    def kernel(self, family: str, us: float, stream: int = COMPUTE_STREAM, node: int = 0) -> Work:
        *numbers, pattern = self.kernels[family]
        self.site += 1
        picks = iter(range(self.site * 5 + self.layer % 6 * 3, 1 << 30, 7))
        name = re.sub(r"%([^%]*)%", lambda match: cycle(match[1].split("|"), next(picks)), pattern)
        details = kernel_details(numbers[0], numbers[1], numbers[2], numbers[3], node, self.setting.layout)
        return Work("kernel", name, stream, us * 1000, details, 0, node)

    # Verbs of the script

    def do_use(self, rest: str, body: Body) -> None:
        name, *params = rest.split()
        self.run(self.script[name], params)

    def do_times(self, rest: str, body: Body) -> None:
        count, section = rest.split()
        for _ in range(int(count)):
            self.run(self.script[section], ())

    def do_log(self, rest: str, body: Body) -> None:
        if self.logging:
            body()

    def do_layers(self, rest: str, body: Body) -> None:
        direction, section, graph_section, *bucket = rest.split()
        for layer in range(self.layers)[:: -1 if direction == "backward" else 1]:
            self.layer, self.site = layer, 0
            replayed = graph_section != "-" and layer % 4 == 2
            self.run(self.script[graph_section if replayed else section], ())
            if bucket and layer % 2 == 0:
                self.run(self.script[bucket[0]], ())

    def do_thread(self, rest: str, body: Body) -> None:
        outer = self.ops, self.notes, self.tid
        self.ops, self.notes, self.tid = [], [], self.setting.autograd_tid
        body()
        self.ops, self.notes, self.tid = outer

    def do_py(self, rest: str, body: Body) -> None:
        self.frame(rest, "", body)

    def do_nn(self, rest: str, body: Body) -> None:
        self.modules[rest] += 1
        extra = f'"Python module id": {self.modules.total()}, '
        self.frame(f"nn.Module: {rest}_{self.modules[rest] - 1}", extra, body)

    def do_call(self, rest: str, body: Body) -> None:
        self.api(rest)

    def do_graph(self, rest: str, body: Body) -> None:
        count, us = (int(word) for word in rest.split())
        nodes = range(1, count - self.layer % 7 + 1)
        works = [self.kernel(cycle(GRAPH_FAMILIES, n), us * (0.3 + n % 5 * 0.35), node=n) for n in nodes]
        self.api("cudaGraphLaunch", works)

    def do_copy(self, rest: str, body: Body) -> None:
        way, host, nbytes, stream = rest.split()
        path = f"{host} -> Device" if way == "HtoD" else f"Device -> {host}"
        self.transfer("cudaMemcpyAsync", "gpu_memcpy", f"Memcpy {way} ({path})", int(stream), int(nbytes))

    def do_set(self, rest: str, body: Body) -> None:
        self.transfer("cudaMemsetAsync", "gpu_memset", "Memset (Device)", COMPUTE_STREAM, int(rest))

    def transfer(self, api: str, cat: str, name: str, stream: int, nbytes: int) -> None:
        details = f'"bytes": {nbytes}, "memory bandwidth (GB/s)": '
        self.api(api, [Work(cat, name, stream, 750 + nbytes / 20, details, nbytes)])

    def do_wait(self, rest: str, body: Body) -> None:
        stream, other = (int(word) for word in rest.split())
        if other in self.last_work:
            self.waits[stream] = self.last_work[other]
        self.api("cudaStreamWaitEvent", sync=("Stream Wait Event", stream))

    def do_sync(self, rest: str, body: Body) -> None:
        api, kind, stream = SYNCS[rest.partition(" ")[0]]
        self.api(api, sync=(kind, stream))

    def do_comms(self, rest: str, body: Body) -> None:
        name, dtype, nelems, pg = rest.split()
        self.collective = (name, dtype, int(nelems), int(pg), self.take(f"comm {pg}"))
        with self.op_slice("record_param_comms", OP, ""):
            body()

    def do_nccl(self, rest: str, body: Body) -> None:
        family, us = rest.split()
        self.api("cudaLaunchKernelExC", [self.kernel(family, float(us), COMM_STREAMS[self.collective[3]])])

    def do_overhead(self, rest: str, body: Body) -> None:
        group = self.groups["device"]
        with self.inside(Pace(900, 80_000, 0)) as span:
            group.add(group.slice("overhead", rest, (-1, 0), "host", span))


def cycle(choices: Sequence[str], index: int) -> str:
    return choices[index % len(choices)]
