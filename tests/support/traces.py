"""Small hand-made traces: events as dictionaries, and the three layouts of text in which they are found."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class Literal(str):
    """Text that stands in the JSON as it is: a number with its exact digits, or something broken."""

    __slots__ = ()


def us(nanoseconds: int) -> Literal:
    """Microseconds with three decimals, as Kineto writes them, of integer nanoseconds."""
    sign, size = "-" * (nanoseconds < 0), abs(nanoseconds)
    return Literal(f"{sign}{size // 1000}.{size % 1000:03d}")


def complete(
    category: str | None, name: str, start_ns: int, dur_ns: int, *, pid: Any = 1, tid: Any = 1, **args: Any
) -> Event:
    """An ``X`` event. Times are given in nanoseconds and written in microseconds."""
    event: Event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid}
    if category is None:
        del event["cat"]
    event |= {"ts": us(start_ns), "dur": us(dur_ns)}
    return event | ({"args": args} if args else {})


def operator(name: str, start_ns: int, dur_ns: int, *, tid: Any = 1, **args: Any) -> Event:
    return complete("cpu_op", name, start_ns, dur_ns, pid=100, tid=tid, **args)


def annotation(name: str, start_ns: int, dur_ns: int, *, tid: Any = 1, **args: Any) -> Event:
    return complete("user_annotation", name, start_ns, dur_ns, pid=100, tid=tid, **args)


def call(name: str, start_ns: int, dur_ns: int, correlation: Any, *, tid: Any = 1, **args: Any) -> Event:
    """A call of the CUDA runtime."""
    return complete("cuda_runtime", name, start_ns, dur_ns, pid=100, tid=tid, correlation=correlation, **args)


def kernel(name: str, start_ns: int, dur_ns: int, correlation: Any, *, stream: Any = 7, **args: Any) -> Event:
    own = {"device": 0, "stream": stream, "correlation": correlation}
    return complete("kernel", name, start_ns, dur_ns, pid=0, tid=stream, **own, **args)


def copy(name: str, start_ns: int, dur_ns: int, correlation: Any, size: int, *, stream: Any = 7) -> Event:
    own = {"device": 0, "stream": stream, "correlation": correlation, "bytes": size}
    return complete("gpu_memcpy", name, start_ns, dur_ns, pid=0, tid=stream, **own)


def flow(phase: str, category: str, number: Any, time_ns: int, *, pid: Any = 100, tid: Any = 1) -> Event:
    event = {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": us(time_ns), "cat": category, "name": category}
    return event | ({"bp": "e"} if phase == "f" else {})


def memory(time_ns: int, size: int, address: int, allocated: int, *, device: int = 0, device_type: int = 1) -> Event:
    """A ``[memory]`` instant: ``size`` is negative for a free, ``allocated`` the allocator's total behind it."""
    args = {"Total Reserved": 4096, "Total Allocated": allocated, "Bytes": size, "Addr": address}
    args |= {"Device Id": device, "Device Type": device_type, "Ev Idx": 0}
    base = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 100, "tid": 1}
    return base | {"ts": us(time_ns), "args": args}


def named(what: str, value: Any, *, pid: Any, tid: Any = 0) -> Event:
    """A metadata event: ``process_name``, ``thread_name``, ``process_labels`` or a sort index."""
    key = "labels" if what == "process_labels" else "sort_index" if what.endswith("sort_index") else "name"
    return {"name": what, "ph": "M", "ts": us(0), "pid": pid, "tid": tid, "args": {key: value}}


def document(events: Sequence[Event], **metadata: Any) -> dict[str, Any]:
    """The object around the events, as a recent writer makes it."""
    return {"schemaVersion": 1, **metadata, "traceEvents": list(events)}


def compact(value: Any) -> str:
    """Layout 3: everything on one line, as ``json.dumps`` writes it."""
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(compact, value)) + "]"
    return json.dumps(value)


def layout_1(value: dict[str, Any]) -> str:
    """torch up to 2.11: several keys on a line, the arguments on lines of their own."""

    def event(item: Event) -> str:
        head = {key: entry for key, entry in item.items() if key not in ("ts", "dur", "args")}
        lines = [", ".join(f'"{key}": {compact(entry)}' for key, entry in head.items())]
        times = {key: item[key] for key in ("ts", "dur") if key in item}
        lines += [", ".join(f'"{key}": {compact(entry)}' for key, entry in times.items())] if times else []
        if "args" in item:
            lines.append('"args": {\n      ' + compact(item["args"])[1:-1] + "\n    }")
        return "  {\n    " + ",\n    ".join(lines) + "\n  }"

    return "\n  {\n" + _around(value, event) + "\n}\n"


def layout_2(value: dict[str, Any]) -> str:
    """torch 2.13: one key per line, a lone comma before the arguments, blank lines where parts are missing."""

    def event(item: Event) -> str:
        body = ",\n    ".join(f'"{key}": {compact(entry)}' for key, entry in item.items() if key != "args")
        if "args" not in item:
            return "  {\n    " + body + "\n    \n  }"
        return "  {\n    " + body + '\n    ,\n    "args": {\n      ' + compact(item["args"])[1:-1] + "\n    }\n  }"

    return "{\n" + _around(value, event) + "\n}"


def _around(value: dict[str, Any], event: Any) -> str:
    parts = []
    for key, entry in value.items():
        text = "[\n" + ",\n".join(map(event, entry)) + "\n  ]" if key == "traceEvents" else compact(entry)
        parts.append(f"  {json.dumps(key)}: {text}")
    return ",\n".join(parts)


LAYOUTS = {"layout 1": layout_1, "layout 2": layout_2, "layout 3": compact}


def write(path: Path, content: Any, *, zipped: bool | None = None) -> Path:
    """A file with ``content``: bytes or text as they are, anything else as JSON. ``.gz`` in the name zips it."""
    if not isinstance(content, (str, bytes)):
        content = compact(content)
    if isinstance(content, str):
        content = content.encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    zipped = path.suffix == ".gz" if zipped is None else zipped
    path.write_bytes(gzip.compress(content, 1, mtime=0) if zipped else content)
    return path


def training_steps(steps: int = 2) -> list[Event]:
    """A realistic little training loop: per step a forward operator with a kernel, a backward one on its own thread
    with two, a copy, flows, memory events, an optimizer; about 20 events a step, 1 ms apart.
    """
    events = [
        named("process_name", "python", pid=100),
        named("process_labels", "CPU", pid=100),
        named("process_name", "python", pid=0),
        named("process_labels", "GPU 0", pid=0),
        named("thread_name", "thread 1 (python)", pid=100, tid=1),
        named("thread_name", "stream 7 ", pid=0, tid=7),
    ]
    for number in range(steps):
        at, base = 1_000_000 * (number + 1), 100 * (number + 1)
        events += [
            annotation(f"ProfilerStep#{number + 5}", at, 900_000, **{"External id": base}),
            operator("aten::mm", at + 10_000, 100_000, **{"External id": base + 1, "Input Dims": [[2, 3], [3, 4]]}),
            call("cudaLaunchKernel", at + 20_000, 5_000, base + 1, **{"External id": base + 1}),
            kernel('gemm<float>(int, "a\\b")', at + 40_000, 50_123, base + 1, **{"External id": base + 1}),
            operator(
                "autograd::engine::evaluate_function: MmBackward0", at + 200_000, 300_000, tid=2, **{"External id": 7}
            ),
            operator("aten::mm", at + 210_000, 100_000, tid=2, **{"External id": base + 2}),
            call("cudaLaunchKernel", at + 220_000, 5_000, base + 2, tid=2),
            kernel("gemm_backward", at + 300_000, 70_001, base + 2),
            call("cudaMemcpyAsync", at + 330_000, 9_000, base + 3, tid=2),
            copy("Memcpy DtoH (Device -> Pageable)", at + 400_000, 4_096, base + 3, 1 << 20),
            flow("s", "fwdbwd", base, at + 10_000),
            flow("f", "fwdbwd", base, at + 210_000, tid=2),
            memory(at + 12_000, 512, 4096 * (number + 1), 512),
            memory(at + 90_000, -512, 4096 * (number + 1), 0),
            annotation("Optimizer.step#SGD.step", at + 600_000, 100_000),
            operator("aten::add_", at + 610_000, 50_000),
            call("cuLaunchKernel", at + 620_000, 5_000, base + 4),
            kernel("add_kernel", at + 640_000, 10_000, base + 4),
        ]
    return events
