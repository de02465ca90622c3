"""All readers, by the name that a source has for its reader."""

from __future__ import annotations

from typing import Final

from stepscope.readers import (
    ascend_db,
    ascend_text,
    chrome,
    cluster_analysis,
    expert_load,
    flight_recorder,
    kineto,
    memory_snapshot,
    minddata,
    mindinsight,
    mindspore_cpu,
    msmemscope,
    nccl_inspector,
    ndtimeline,
    nsight,
    rocprof,
    stepscope_capture,
    trace_and_snapshot,
)
from stepscope.readers.reader import Reader

#: In the order in which they are asked; a general format comes after the special ones that use it.
READERS: Final[dict[str, Reader]] = {
    "stepscope_capture": stepscope_capture,
    "mindinsight": mindinsight,  # its directories may hold the host's operators too
    "mindspore_cpu": mindspore_cpu,
    "ascend_text": ascend_text,
    "ascend_db": ascend_db,
    "cluster_analysis": cluster_analysis,
    "expert_load": expert_load,
    "minddata": minddata,
    "trace_and_snapshot": trace_and_snapshot,
    "flight_recorder": flight_recorder,
    "nccl_inspector": nccl_inspector,
    "memory_snapshot": memory_snapshot,
    "msmemscope": msmemscope,
    "ndtimeline": ndtimeline,
    "nsight": nsight,
    "rocprof": rocprof,
    "kineto": kineto,
    "chrome": chrome,
}
