"""Switches that a backend cannot serve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stepscope.profiler.settings.enums import AicoreMetrics, HostSystem
from stepscope.profiler.settings.profile_settings import Settings

#: Only an Ascend device has them.
_ASCEND_ONLY = ("l2_cache", "sys_io", "sys_interconnection", "hbm_ddr", "pcie", "parallel_strategy")
_HOST_SERVED = (HostSystem.CPU, HostSystem.MEM)


def not_served(settings: Settings, further: Iterable[str] = ()) -> Iterator[str]:
    """Switches that are set and need an Ascend device or, in ``further``, something else that is not here."""
    for name in (*_ASCEND_ONLY, *further):
        if getattr(settings, name):
            yield name
    if settings.aic_metrics not in (AicoreMetrics.AiCoreNone, AicoreMetrics.PipeUtilization):
        yield "aic_metrics"
    if any(system not in _HOST_SERVED for system in settings.host_sys):
        yield "host_sys"
    if not settings.sync_enable:
        yield "sync_enable"
