"""Records how a training job spends its time: the names of ``mindspore.profiler``, for MindSpore, PyTorch and any loop.

Standard library only, Python 3.9 and newer. Nothing is imported before it is asked for::

    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
                 on_trace_ready=tensorboard_trace_handler("captures")) as prof:
        for batch in data:
            train(batch)
            prof.step()
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepscope.profiler.dynamic import DynamicProfilerMonitor
    from stepscope.profiler.enums import AicoreMetrics, ExportType, HostSystem, ProfilerActivity, ProfilerLevel
    from stepscope.profiler.environment import EnvProfiler
    from stepscope.profiler.experimental import ExperimentalConfig
    from stepscope.profiler.experimental import ExperimentalConfig as _ExperimentalConfig
    from stepscope.profiler.marks import Mstx as mstx  # noqa: N813
    from stepscope.profiler.old_profiler import Profiler
    from stepscope.profiler.plan import ProfilerAction
    from stepscope.profiler.plan import Schedule as schedule  # noqa: N813
    from stepscope.profiler.recording import Profile as profile  # noqa: N813
    from stepscope.profiler.trace_handler import tensorboard_trace_handler

__all__ = [
    "AicoreMetrics",
    "DynamicProfilerMonitor",
    "EnvProfiler",
    "ExperimentalConfig",
    "ExportType",
    "HostSystem",
    "Profiler",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "mstx",
    "profile",
    "schedule",
    "tensorboard_trace_handler",
]

#: Where each name lives, as module and attribute.
_HOMES = {
    "AicoreMetrics": "enums:AicoreMetrics",
    "DynamicProfilerMonitor": "dynamic:DynamicProfilerMonitor",
    "EnvProfiler": "environment:EnvProfiler",
    "ExperimentalConfig": "experimental:ExperimentalConfig",
    "ExportType": "enums:ExportType",
    "HostSystem": "enums:HostSystem",
    "Profiler": "old_profiler:Profiler",
    "ProfilerAction": "plan:ProfilerAction",
    "ProfilerActivity": "enums:ProfilerActivity",
    "ProfilerLevel": "enums:ProfilerLevel",
    "_ExperimentalConfig": "experimental:ExperimentalConfig",
    "mstx": "marks:Mstx",
    "profile": "recording:Profile",
    "schedule": "plan:Schedule",
    "tensorboard_trace_handler": "trace_handler:tensorboard_trace_handler",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stepscope.profiler' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(f"stepscope.profiler.{module}"), attribute)


if os.environ.get("MS_PROFILER_OPTIONS"):
    from stepscope.profiler import environment

    environment.imported()
