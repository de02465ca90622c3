"""What bounds a part of a path."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.replay import edge_kinds

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
    edge_kinds.QUEUE: "cpu_bound",
    edge_kinds.LAUNCH: "launch_overhead",
    edge_kinds.STREAM: "kernel_kernel_overhead",
    edge_kinds.EVENT: "kernel_kernel_overhead",
    edge_kinds.SYNC: "sync_overhead",
    edge_kinds.COMPUTE: "compute",
    edge_kinds.COMMUNICATION: "communication",
    edge_kinds.COPY: "copy",
    edge_kinds.UNEXPLAINED: "other",
    edge_kinds.FULL_QUEUE: "kernel_kernel_overhead",
    edge_kinds.DATA: "data_loading",
}
