"""Tiny captures in the PyTorch profiler's format, written by hand: for tests of all that stands behind the readers.

Nothing here uses Stepscope, so that what a file says can be worked out a second time and compared.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

#: What the times of a trace are relative to.
BASE_NS: Final = 1_700_000_000_123_456_789

HOST_PID: Final = 4242
DEVICE_PID: Final = 0
STREAM: Final = 7

#: name, start in ns since 1970, duration in ns
SliceFacts = tuple[str, int, int]


def complete(
    name: str,
    ts: str,
    dur: str,
    *,
    cat: str = "cpu_op",
    pid: int = HOST_PID,
    tid: int = 1,
    args: dict[str, Any] | None = None,
) -> str:
    """A slice; ``ts`` and ``dur`` are microseconds, and stand in the file exactly as given."""
    rest = {"cat": cat, "name": name, "pid": pid, "tid": tid, "args": args or {}}
    return f'{{"ph": "X", "ts": {ts}, "dur": {dur}, {json.dumps(rest, ensure_ascii=False)[1:]}'


def counter(name: str, ts: str, value: float, *, pid: int = HOST_PID) -> str:
    """A moment of a series."""
    return f'{{"ph": "C", "ts": {ts}, "name": {json.dumps(name)}, "pid": {pid}, "args": {{"value": {value}}}}}'


def flow(ident: int, begin: str, end: str, *, begin_tid: int = 1, end_tid: int = 1) -> list[str]:
    """An arrow from the slice around ``begin`` to the slice around ``end``."""
    shared = f'"cat": "fwdbwd", "name": "fwdbwd", "id": {ident}, "pid": {HOST_PID}'
    return [
        f'{{"ph": "s", "ts": {begin}, "tid": {begin_tid}, {shared}}}',
        f'{{"ph": "f", "bp": "e", "ts": {end}, "tid": {end_tid}, {shared}}}',
    ]


def training_step(step: int, *, operators: int = 3) -> list[str]:
    """A step of 1 ms: operators that each launch a kernel, an all-reduce, a backward operator, a counter."""
    begin = step * 1000
    events = [complete(f"ProfilerStep#{step}", f"{begin}.125", "900.500", cat="user_annotation")]
    for place in range(operators):
        at, correlation = begin + 10 + place * 100, step * 1000 + place
        events += [
            complete("aten::mm", f"{at}.001", "50.000", args={"External id": correlation, "Input Dims": [[4, 4]]}),
            complete("cudaLaunchKernel", f"{at + 10}.002", "7.003", cat="cuda_runtime", args=_launch(correlation)),
            complete(
                "sgemm_128x64",
                f"{at + 20}.004",
                "33.333",
                cat="kernel",
                pid=DEVICE_PID,
                tid=STREAM,
                args={"stream": STREAM, **_launch(correlation)},
            ),
        ]
    events += [
        complete("MmBackward0", f"{begin + 700}.500", "80.250", tid=2),
        complete(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            f"{begin + 720}.000",
            "120.000",
            cat="kernel",
            pid=DEVICE_PID,
            tid=STREAM + 1,
            args={
                "stream": STREAM + 1,
                "Collective name": "allreduce",
                "Process Group Name": "0",
                "dtype": "Float",
                "In msg nelems": 256,
            },
        ),
        counter("GPU 0 memory", f"{begin + 5}.000", 1024.0 + step),
        *flow(step + 1, f"{begin + 11}.000", f"{begin + 701}.000", end_tid=2),
    ]
    return events


def trace_text(events: Iterable[str], *, rank: int | None = 0, world_size: int = 1, base_ns: int = BASE_NS) -> str:
    """A whole file of the profiler."""
    head: dict[str, Any] = {"schemaVersion": 1, "baseTimeNanoseconds": base_ns}
    if rank is not None:
        head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world_size}
    names = [
        {"ph": "M", "name": "process_name", "pid": HOST_PID, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_name", "pid": DEVICE_PID, "tid": 0, "args": {"name": "GPU"}},
    ]
    lines = ",\n".join([*map(json.dumps, names), *events])
    return f'{json.dumps(head)[:-1]}, "traceEvents": [\n{lines}\n]}}\n'


def write_trace(path: Path, events: Iterable[str], *, rank: int | None = 0, world_size: int = 1) -> Path:
    """Write a trace; compressed if its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = trace_text(events, rank=rank, world_size=world_size).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def write_rank(path: Path, rank: int = 0, *, world_size: int = 1, steps: int = 2, operators: int = 3) -> Path:
    """Write the trace of one rank of a small training job; ranks differ by the names of one operator."""
    events = [event for step in range(steps) for event in training_step(step, operators=operators)]
    return write_trace(path, [*events, complete(f"rank_{rank}", "5000.000", "1.000")], rank=rank, world_size=world_size)


def write_unreadable(path: Path, rank: int, *, world_size: int = 1) -> Path:
    """Write a file that is the profiler's by its head, and holds no event."""
    head = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": world_size}, "traceEvents": []}
    path.write_text(json.dumps(head))
    return path


def write_capture(directory: Path, ranks: Iterable[int], *, steps: int = 2, operators: int = 3) -> Path:
    """Write a directory with one file per rank."""
    ranks = list(ranks)
    for rank in ranks:
        write_rank(directory / f"rank{rank}.json", rank, world_size=len(ranks), steps=steps, operators=operators)
    return directory


def slices_in(path: Path) -> Counter[SliceFacts]:
    """The slices that a Chrome trace states, with exact times, by a reader of five lines."""
    raw = path.read_bytes()
    document = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw, parse_float=Decimal)
    base_ns = int(document.get("baseTimeNanoseconds", 0))
    return Counter(
        (event["name"], base_ns + _nanoseconds(event["ts"]), _nanoseconds(event["dur"]))
        for event in document["traceEvents"]
        if event["ph"] == "X"
    )


def _launch(correlation: int) -> dict[str, int]:
    return {"correlation": correlation}


def _nanoseconds(micro: Decimal | int) -> int:
    nano = Decimal(micro) * 1000
    assert nano == nano.to_integral_value()
    return int(nano)
