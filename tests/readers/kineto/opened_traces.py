"""Traces made by hand: events of several kinds, values that hurt, and how tests open them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.reading import Reading
from support.traces import (
    Event,
    Literal,
    complete,
    flow,
    kernel,
    memory,
    named,
    operator,
    us,
)

Opened = Callable[..., Reading]


def links(reading: Reading, kind: str) -> list[tuple[int, int]]:
    return sorted((row["from_slice"], row["to_slice"]) for row in reading.rows("links") if row["kind"] == kind)


def frame(name: str, start_ns: int, dur_ns: int, **args: Any) -> Event:
    return complete("python_function", name, start_ns, dur_ns, pid=100, **args)


# communication
def communication(name: str, **more: Any) -> dict[str, Any]:
    own = {"Collective name": name, "dtype": "BFloat16", "In msg nelems": 100, "Out msg nelems": 400, "Seq": 12}
    own |= {"Process Group Name": "3", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]"}
    return own | {"Group size": 4} | more


NASTY: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    Literal("1e999"),
    Literal("-1e-999"),
    Literal("1" * 400),
    10**30,
    -(10**30),
    2**31,
    -(2**40),
    2**61,
    2**62,
    2**63,
    2**64,
    "",
    "text",
    "1e3",
    "9" * 4_400,  # more digits than Python turns into an integer
    "\u0000",
    "名前 🚀",
    Literal('"\\ud800"'),
    Literal("NaN"),
    Literal("-Infinity"),
    Literal("N/A"),
    [],
    [1, [2, {"a": None}]],
    {},
    {"a": {"b": []}},
]


KINDS_OF_EVENTS: dict[str, Event] = {
    "complete": operator("victim", 1_100_000, 500, **{"External id": 3}),
    "kernel": kernel("victim", 1_200_000, 500, 555),
    "memory": memory(1_300_000, 64, 0xF000, 64),
    "counter": {"ph": "C", "cat": "c", "name": "victim", "pid": 1, "tid": 1, "ts": us(1_400_000), "args": {"v": 1}},
    "flow": flow("s", "fwdbwd", 77, 1_010_000),
    "mark": {"ph": "i", "name": "victim", "pid": 1, "tid": 1, "ts": us(1_500_000), "s": "g"},
    "begin": {"ph": "B", "name": "victim", "pid": 1, "tid": 9, "ts": us(1_600_000), "args": {"a": 1}},
    "end": {"ph": "E", "name": "victim", "pid": 1, "tid": 9, "ts": us(1_700_000)},
    "async": {"ph": "b", "cat": "a", "id": 4, "name": "victim", "pid": 1, "tid": 9, "ts": us(1_600_000)},
    "name": named("thread_name", "victim", pid=100, tid=1),
    "order": named("process_sort_index", 3, pid=100),
}
