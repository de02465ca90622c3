"""``_ExperimentalConfig``: the further switches of a profile."""

from __future__ import annotations

from typing import Any

from stepscope.profiler.settings.enums import AicoreMetrics, ExportType, ProfilerLevel


class ExperimentalConfig:
    """Holds values as they are given; the profile checks them. All fields can be read and set."""

    def __init__(
        self,
        profiler_level: Any = ProfilerLevel.Level0,
        aic_metrics: Any = AicoreMetrics.AiCoreNone,
        l2_cache: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        export_type: Any = None,
        mstx_domain_include: Any = None,
        mstx_domain_exclude: Any = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
        host_sys: Any = None,
    ) -> None:
        self.profiler_level = profiler_level
        self.aic_metrics = aic_metrics
        self.l2_cache = l2_cache
        self.mstx = mstx
        self.data_simplification = data_simplification
        self.export_type = [ExportType.Text] if export_type is None else export_type
        self.mstx_domain_include = [] if mstx_domain_include is None else mstx_domain_include
        self.mstx_domain_exclude = [] if mstx_domain_exclude is None else mstx_domain_exclude
        self.sys_io = sys_io
        self.sys_interconnection = sys_interconnection
        self.host_sys = [] if host_sys is None else host_sys

    def values(self) -> dict[str, Any]:
        """All fields by name."""
        return dict(vars(self))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"_ExperimentalConfig({given})"
