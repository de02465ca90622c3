"""MindSpore on an Ascend device: its own collector records, and its raw data land in the window's directory.

Checked against the signatures of MindSpore 2.10, and not run on hardware.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.layout.names import SUFFIXES
from stepscope.profiler.backends import Backend
from stepscope.profiler.backends.mindspore import records_already
from stepscope.profiler.backends.mindspore_steps import watch_steps
from stepscope.profiler.backends.vendor_folder import SCRATCH, take_out
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window


class AscendBackend(Backend):
    """Drives ``mindspore.profiler.profile`` over one window, without a schedule: the window is ours."""

    name = "mindspore"
    framework = "mindspore"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._mindspore: Any = importlib.import_module("mindspore")
        self._theirs: Any = None
        self._directory = Path()

    def prepare(self, window: Window) -> None:
        self._directory = window.directory

    def start(self) -> None:
        if records_already():
            warn("foreign_mindspore")
            return
        module: Any = importlib.import_module("mindspore.profiler")
        self._theirs = module.profile(**arguments(self.settings, module, self._directory / SCRATCH))
        self._theirs.start()

    def stop(self) -> None:
        if self._theirs is not None:
            self._theirs.stop()

    def save(self) -> None:
        take_out(self._directory, SUFFIXES["mindspore"])

    def discard(self) -> None:
        self.stop()

    def describe(self) -> dict[str, Any]:
        versions = {"mindspore": str(self._mindspore.__version__), "python": sys.version.split()[0]}
        return {"versions": versions, "device": {"kind": "npu", "name": "Ascend"}}

    def watch_optimizer(self, on_step: Callable[[int], None]) -> Callable[[], None]:
        return watch_steps(on_step)


def arguments(settings: Settings, theirs: Any, folder: Path) -> dict[str, Any]:
    """Our settings as theirs. The input pipeline is left to our sampler, which can do it with a schedule too."""
    return {
        "activities": [theirs.ProfilerActivity[one.name] for one in settings.activities],
        "with_stack": settings.with_stack,
        "profile_memory": settings.profile_memory,
        "data_process": False,
        "parallel_strategy": settings.parallel_strategy,
        "start_profile": False,
        "hbm_ddr": settings.hbm_ddr,
        "pcie": settings.pcie,
        "sync_enable": settings.sync_enable,
        "record_shapes": settings.record_shapes,
        "on_trace_ready": theirs.tensorboard_trace_handler(str(folder), analyse_flag=True),
        "experimental_config": theirs._ExperimentalConfig(
            profiler_level=theirs.ProfilerLevel[settings.profiler_level.name],
            aic_metrics=theirs.AicoreMetrics[settings.aic_metrics.name],
            l2_cache=settings.l2_cache,
            mstx=settings.mstx,
            data_simplification=settings.data_simplification,
            export_type=[theirs.ExportType[one.name] for one in settings.export_type],
            mstx_domain_include=settings.mstx_domain_include,
            mstx_domain_exclude=settings.mstx_domain_exclude,
            sys_io=settings.sys_io,
            sys_interconnection=settings.sys_interconnection,
            host_sys=[theirs.HostSystem[one.name] for one in settings.host_sys],
        ),
    }
