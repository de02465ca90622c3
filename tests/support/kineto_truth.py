"""What a Kineto file holds, read the slow and obvious way: the json module with exact decimals, and nothing of ours."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


@dataclass(frozen=True)
class Complete:
    """A complete event; ``index`` counts all events of the file, from 0."""

    index: int
    category: str
    name: str
    track: tuple[Any, Any]
    ts_ns: int
    dur_ns: int
    args: dict[str, Any]

    @property
    def end_ns(self) -> int:
        return self.ts_ns + self.dur_ns


class Truth:
    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        self.document: dict[str, Any] = json.loads(content, parse_float=Decimal)
        self.events: list[dict[str, Any]] = self.document["traceEvents"]
        self.base_ns = int(self.document.get("baseTimeNanoseconds", 0))

    @cached_property
    def complete(self) -> list[Complete]:
        return [
            Complete(
                index,
                event.get("cat", ""),
                event["name"],
                (event["pid"], event["tid"]),
                whole_ns(event["ts"]),
                whole_ns(event["dur"]),
                event.get("args", {}),
            )
            for index, event in enumerate(self.events)
            if event["ph"] == "X"
        ]

    @cached_property
    def of_category(self) -> dict[str, list[Complete]]:
        found = defaultdict(list)
        for event in self.complete:
            found[event.category].append(event)
        return dict(found)

    @cached_property
    def counts(self) -> Counter[tuple[str, str]]:
        """Events per phase and category."""
        return Counter((event["ph"], event.get("cat", "")) for event in self.events)

    @cached_property
    def device_work(self) -> list[Complete]:
        return [event for category in DEVICE_WORK for event in self.of_category.get(category, [])]

    @cached_property
    def launches(self) -> dict[int, int]:
        """Index of each device event to that of the call with its correlation."""
        calls = {event.args["correlation"]: event for name in CALLS for event in self.of_category.get(name, [])}
        return {
            event.index: calls[event.args["correlation"]].index
            for event in self.device_work
            if event.args["correlation"] in calls
        }

    @cached_property
    def steps(self) -> list[tuple[int, int, int]]:
        """Number, start and end of each ProfilerStep, by the file's clock."""
        marks = [
            event for event in self.of_category.get("user_annotation", []) if event.name.startswith("ProfilerStep#")
        ]
        return sorted((int(mark.name.split("#")[1]), mark.ts_ns, mark.end_ns) for mark in marks)

    def step_at(self, ts_ns: int) -> int | None:
        return next((number for number, start, end in self.steps if start <= ts_ns < end), None)

    def memory(self) -> list[tuple[int, dict[str, Any]]]:
        """Time and arguments of each allocation and free."""
        return [(whole_ns(event["ts"]), event["args"]) for event in self.events if event["name"] == "[memory]"]


def whole_ns(microseconds: Decimal | int) -> int:
    nanoseconds = Decimal(microseconds) * 1000
    assert nanoseconds == int(nanoseconds), f"{microseconds} us is no whole number of nanoseconds"
    return int(nanoseconds)


@cache
def truth(path: Path) -> Truth:
    return Truth(path)
