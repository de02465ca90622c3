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
    from stepscope.profiler.dynamic.monitor import DynamicProfilerMonitor
    from stepscope.profiler.handover.trace_handler import tensorboard_trace_handler
    from stepscope.profiler.recording.marks import Mstx as mstx  # noqa: N813
    from stepscope.profiler.recording.profile import Profile as profile  # noqa: N813
    from stepscope.profiler.settings.enums import AicoreMetrics, ExportType, HostSystem, ProfilerActivity, ProfilerLevel
    from stepscope.profiler.settings.experimental import ExperimentalConfig
    from stepscope.profiler.settings.experimental import ExperimentalConfig as _ExperimentalConfig
    from stepscope.profiler.settings.schedule import ProfilerAction
    from stepscope.profiler.settings.schedule import Schedule as schedule  # noqa: N813
    from stepscope.profiler.starting.environment import EnvProfiler
    from stepscope.profiler.starting.old_profiler import Profiler

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
    "AicoreMetrics": "settings.enums:AicoreMetrics",
    "DynamicProfilerMonitor": "dynamic.monitor:DynamicProfilerMonitor",
    "EnvProfiler": "starting.environment:EnvProfiler",
    "ExperimentalConfig": "settings.experimental:ExperimentalConfig",
    "ExportType": "settings.enums:ExportType",
    "HostSystem": "settings.enums:HostSystem",
    "Profiler": "starting.old_profiler:Profiler",
    "ProfilerAction": "settings.schedule:ProfilerAction",
    "ProfilerActivity": "settings.enums:ProfilerActivity",
    "ProfilerLevel": "settings.enums:ProfilerLevel",
    "_ExperimentalConfig": "settings.experimental:ExperimentalConfig",
    "mstx": "recording.marks:Mstx",
    "profile": "recording.profile:Profile",
    "schedule": "settings.schedule:Schedule",
    "tensorboard_trace_handler": "handover.trace_handler:tensorboard_trace_handler",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stepscope.profiler' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(f"stepscope.profiler.{module}"), attribute)


if os.environ.get("MS_PROFILER_OPTIONS"):
    from stepscope.profiler.starting import environment

    environment.imported()
