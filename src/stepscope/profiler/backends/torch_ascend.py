"""PyTorch on an Ascend device: the profiler of ``torch_npu`` records, and its directory becomes the window's.

Checked against the signatures of torch_npu 2.14.0, and not run on hardware.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.layout.names import SUFFIXES
from stepscope.profiler.backends.torch import TorchBackend
from stepscope.profiler.backends.vendor_folder import SCRATCH, take_out
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window

#: Where their names differ from the documented ones of MindSpore.
_LEVELS = {"LevelNone": "Level_none"}
#: What they call the two activities; ``GPU`` means the accelerator that is there.
_ACTIVITIES = {"CPU": "CPU", "NPU": "NPU", "GPU": "NPU"}


def is_in_use() -> bool:
    """Whether the job has imported ``torch_npu`` and there is a device for it."""
    torch: Any = sys.modules.get("torch")
    npu = getattr(torch, "npu", None)
    return "torch_npu" in sys.modules and npu is not None and bool(npu.is_available())


class AscendTorchBackend(TorchBackend):
    """Drives ``torch_npu.profiler.profile`` over one window, without a schedule: the window is ours."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._theirs: Any = None
        self._directory = Path()

    def prepare(self, window: Window) -> None:
        self._directory = window.directory

    def start(self) -> None:
        module: Any = importlib.import_module("torch_npu.profiler")
        self._theirs = module.profile(**arguments(self.settings, module, self._directory / SCRATCH))
        self._theirs.start()

    def begin_step(self, step: int) -> None:
        if self._theirs is not None:
            self._marker = self._torch.profiler.record_function(f"ProfilerStep#{step}")
            self._marker.__enter__()

    def stop(self) -> None:
        if self._theirs is not None:
            self._theirs.stop()

    def save(self) -> None:
        take_out(self._directory, SUFFIXES["torch"], theirs_first="profiler_info_")

    def discard(self) -> None:
        self.stop()

    def give_way(self) -> None:
        """Kineto is not used here."""

    def describe(self) -> dict[str, Any]:
        torch_npu: Any = sys.modules.get("torch_npu")
        versions = {"torch": str(self._torch.__version__), "python": sys.version.split()[0]}
        versions["torch_npu"] = str(getattr(torch_npu, "__version__", "not known"))
        return {"versions": versions, "device": {"kind": "npu", "name": "Ascend"}}

    def unsupported(self) -> tuple[str, ...]:
        """What torch_npu has no parameter for."""
        names = [name for name in ("parallel_strategy", "hbm_ddr", "pcie") if getattr(self.settings, name)]
        return (*names, *(() if self.settings.sync_enable else ("sync_enable",)))


def arguments(settings: Settings, theirs: Any, folder: Path) -> dict[str, Any]:
    """Our settings as theirs."""
    activities = dict.fromkeys(_ACTIVITIES[one.name] for one in settings.activities)
    level = settings.profiler_level.name
    return {
        "activities": [getattr(theirs.ProfilerActivity, name) for name in activities],
        "on_trace_ready": theirs.tensorboard_trace_handler(str(folder), analyse_flag=True),
        "record_shapes": settings.record_shapes,
        "profile_memory": settings.profile_memory,
        "with_stack": settings.with_stack,
        "experimental_config": theirs._ExperimentalConfig(
            profiler_level=getattr(theirs.ProfilerLevel, _LEVELS.get(level, level)),
            aic_metrics=getattr(theirs.AiCMetrics, settings.aic_metrics.name),
            l2_cache=settings.l2_cache,
            mstx=settings.mstx,
            data_simplification=settings.data_simplification,
            export_type=[getattr(theirs.ExportType, one.name) for one in settings.export_type],
            host_sys=[getattr(theirs.HostSystem, one.name) for one in settings.host_sys],
            mstx_domain_include=settings.mstx_domain_include,
            mstx_domain_exclude=settings.mstx_domain_exclude,
            sys_io=settings.sys_io,
            sys_interconnection=settings.sys_interconnection,
        ),
    }
