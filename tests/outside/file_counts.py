"""What a PyTorch trace holds, counted from its text by the json module and nothing of ours."""

from __future__ import annotations

import gzip
import json
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

_COPIES = {"gpu_memcpy", "gpu_memset", "memcpy", "memset"}
_CALLS = {"cuda_runtime", "cuda_driver", "runtime"}
_MARKS = {"user_annotation", "operator", "cpu_op"}
_COMMUNICATES = ("nccl", "multimem_all_reduce", "cross_device_reduce")
_BYTES = {"Float": 4, "BFloat16": 2, "Half": 2, "Long": 8, "Int": 4, "Byte": 1, "Char": 1} | {
    "float": 4,
    "int": 4,
    "long int": 8,
    "long": 8,
    "c10::Half": 2,
    "c10::BFloat16": 2,
    "unsigned char": 1,
}
_KINDS = {
    "allreduce": "all_reduce",
    "AllReduce": "all_reduce",
    "all_reduce": "all_reduce",
    "multimem_all_reduce": "all_reduce",
    "_allgather_base": "all_gather",
    "_all_gather_base": "all_gather",
    "AllGather": "all_gather",
    "broadcast": "broadcast",
    "Broadcast": "broadcast",
    "all_to_all": "all_to_all",
    "all_gather": "all_gather",
}


class FileCounts:
    """Complete events only; times in nanoseconds of the file's clock."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        document = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content, parse_float=Decimal)
        self.about: dict[str, Any] = document.get("distributedInfo", {})
        self.complete = [event for event in document["traceEvents"] if event.get("ph") == "X"]
        for event in self.complete:
            event["start"] = int((Decimal(event["ts"]) * 1000).to_integral_value())
            event["end"] = event["start"] + int((Decimal(event["dur"]) * 1000).to_integral_value())
            event["cat"] = event["cat"].lower()
            event.setdefault("args", {})

    def of(self, *categories: str) -> list[dict[str, Any]]:
        return [event for event in self.complete if event["cat"] in categories]

    @cached_property
    def kernels(self) -> list[dict[str, Any]]:
        return self.of("kernel")

    @cached_property
    def communication(self) -> list[dict[str, Any]]:
        return [kernel for kernel in self.kernels if any(word in kernel["name"] for word in _COMMUNICATES)]

    @cached_property
    def copies(self) -> list[dict[str, Any]]:
        return self.of(*_COPIES)

    @cached_property
    def steps(self) -> list[int]:
        """Numbers of the marks; those of serving engines are counted from 0."""
        marks = [event for event in self.of(*_MARKS) if event["name"].startswith("ProfilerStep#")]
        if marks:
            return sorted(int(mark["name"].split("#")[1]) for mark in marks)
        batches = [event for event in self.of(*_MARKS) if event["name"].startswith("execute_")]
        return list(range(len(batches)))

    def busy_ns(self, events: list[dict[str, Any]]) -> int:
        """Length of the union of the intervals."""
        total, reached = 0, 0
        for event in sorted(events, key=lambda event: int(event["start"])):
            total += max(0, event["end"] - max(event["start"], reached))
            reached = max(reached, event["end"])
        return total

    @cached_property
    def _around(self) -> dict[Any, list[dict[str, Any]]]:
        """Annotations and operators of each thread that tell of communication, in order of their start."""
        found = defaultdict(list)
        for event in self.of("user_annotation", "cpu_op"):
            if event["name"].startswith("nccl:") or event["name"] == "record_param_comms":
                found[event["tid"]].append(event)
        return {thread: sorted(events, key=lambda event: int(event["start"])) for thread, events in found.items()}

    def _told_around(self, call: dict[str, Any] | None) -> list[dict[str, Any]]:
        """What encloses a call, the innermost first."""
        events = self._around.get(call["tid"], []) if call else []
        low = bisect_right([event["start"] for event in events], call["start"]) if call else 0
        return [event for event in reversed(events[:low]) if call and event["end"] >= call["end"]]

    def collectives(self) -> Counter[tuple[str, int | None, str | None, int | None]]:
        """Kind, bytes, group and sequence number of each communication kernel, by its arguments or its launch."""
        calls = {event["args"].get("correlation"): event for event in self.of(*_CALLS)}
        by_id = {event["args"].get("External id"): event for event in self.of("cpu_op")}
        configured = [group["pg_name"] for group in self.about.get("pg_config", [])]
        found: Counter[tuple[str, int | None, str | None, int | None]] = Counter()
        for kernel in self.communication:
            around = self._told_around(calls.get(kernel["args"].get("correlation")))
            comms = [event for event in around if event["name"] == "record_param_comms"]
            operator = by_id.get(kernel["args"].get("External id")) or (comms[0] if comms else {})
            enqueued = next((event for event in around if event["name"].startswith("nccl:")), {})
            told = kernel["args"] if "Collective name" in kernel["args"] else operator.get("args", {})
            name = told.get("Collective name") or next(
                (
                    word
                    for word in ("AllReduce", "AllGather", "Broadcast", "multimem_all_reduce")
                    if word in kernel["name"]
                ),
                enqueued.get("name", "")[5:],
            )
            kind = _KINDS.get(name, "other")
            elements = told.get("Out msg nelems" if kind == "all_gather" else "In msg nelems")
            size = None if elements is None else int(elements) * _BYTES[told["dtype"]]
            if elements is None and enqueued and kind != "all_gather":
                size = math.prod(enqueued["args"]["Input Dims"][0]) * _BYTES[enqueued["args"]["Input type"][0]]
            group = told.get("Process Group Name", configured[0] if len(configured) == 1 else None)
            found[kind, size, group, told.get("Seq")] += 1
        return found

    def groups(self) -> dict[str, list[int]]:
        """Members of the groups that calls or the head of the file describe."""
        described = {group["pg_name"]: group.get("ranks", []) for group in self.about.get("pg_config", [])}
        for event in self.of("cpu_op", "kernel"):
            name, ranks = (event["args"].get(f"Process Group {word}") for word in ("Name", "Ranks"))
            if name is not None and ranks:
                described[name] = json.loads(ranks)
        return {name: ranks for name, ranks in described.items() if ranks}
