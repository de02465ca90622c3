"""Kinds of edges, and what bounds a part of a path."""

from __future__ import annotations

from typing import Final

#: Kinds of edges. HOST and HANDOFF are about a thread, the others about a slice.
HOST, HANDOFF, QUEUE, LAUNCH, STREAM, EVENT, SYNC, COMPUTE, COMMUNICATION, COPY, UNEXPLAINED = range(11)

#: What bounds a part of the path.
BOUNDS: Final = (
    "compute",
    "communication",
    "copy",
    "cpu_bound",
    "data_loading",
    "gc",
    "launch_overhead",
    "kernel_kernel_overhead",
    "sync_overhead",
    "other",
)

#: Bounds of the edges that are not about a thread.
BOUND_OF_EDGE: Final = {
    QUEUE: "cpu_bound",
    LAUNCH: "launch_overhead",
    STREAM: "kernel_kernel_overhead",
    EVENT: "kernel_kernel_overhead",
    SYNC: "sync_overhead",
    COMPUTE: "compute",
    COMMUNICATION: "communication",
    COPY: "copy",
    UNEXPLAINED: "other",
}
