"""PyTorch on Ascend by delegation: a stand-in has the signatures of torch_npu 2.14.0, read from its wheel. Not run on
hardware."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler import ExperimentalConfig, ProfilerActivity, ProfilerLevel, profile, schedule

torch = pytest.importorskip("torch")


class Members:
    """An enumeration of theirs: attributes of a class."""

    def __init__(self, *names: str) -> None:
        for name in names:
            setattr(self, name, f"theirs.{name}")


class Config:
    """``torch_npu.profiler._ExperimentalConfig``."""

    def __init__(
        self,
        profiler_level: Any = None,
        aic_metrics: Any = None,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: Any = None,
        export_type: Any = None,
        host_sys: Any = None,
        mstx_domain_include: Any = None,
        mstx_domain_exclude: Any = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        self.given = {name: value for name, value in locals().items() if name != "self"}


class Profile:
    """``torch_npu.profiler.profile``: writes its directory when it stops."""

    made: Profile

    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: Any = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Any = None,
        use_cuda: Any = None,
    ) -> None:
        self.given = {name: value for name, value in locals().items() if name != "self"}
        self.calls: list[str] = []
        Profile.made = self

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")
        folder = Path(self.given["on_trace_ready"]) / "host_1_20260101000000000_ascend_pt"
        for name in ("PROF_000001_1_A/device_0/x", "ASCEND_PROFILER_OUTPUT/trace_view.json", "profiler_info_0.json"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text('"theirs"')


def _handler(dir_name: Any = None, worker_name: Any = None, analyse_flag: bool = True, async_mode: bool = False) -> Any:
    assert analyse_flag
    return dir_name


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("torch_npu.profiler")
    module.profile, module._ExperimentalConfig, module.tensorboard_trace_handler = Profile, Config, _handler
    module.ProfilerActivity = Members("CPU", "NPU")
    module.ProfilerLevel = Members("Level0", "Level1", "Level2", "Level_none")
    metrics = (
        "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio L2Cache MemoryAccess"
    )
    module.AiCMetrics = Members(*metrics.split(), "AiCoreNone")
    module.ExportType, module.HostSystem = Members("Db", "Text"), Members("CPU", "MEM", "DISK", "NETWORK", "OSRT")
    top: Any = types.ModuleType("torch_npu")
    top.__version__, top.profiler = "2.14.0", module
    monkeypatch.setitem(sys.modules, "torch_npu", top)
    monkeypatch.setitem(sys.modules, "torch_npu.profiler", module)
    monkeypatch.setattr(torch, "npu", types.SimpleNamespace(is_available=lambda: True), raising=False)
    monkeypatch.setenv("STEPSCOPE_BACKEND", "torch")


@pytest.mark.usefixtures("npu")
def test_the_window_is_theirs_with_our_settings(tmp_path: Path, said: list[str]) -> None:
    config = ExperimentalConfig(profiler_level=ProfilerLevel.Level1, mstx=True, l2_cache=True)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        schedule=schedule(wait=1, active=2, repeat=1),
        output_path=str(tmp_path),
        record_shapes=True,
        pcie=True,
        experimental_config=config,
    ) as prof:
        for _ in range(4):
            prof.step()
    theirs = Profile.made
    assert theirs.calls == ["start", "stop"]
    assert (theirs.given["activities"], theirs.given["schedule"]) == (["theirs.CPU", "theirs.NPU"], None)
    assert (theirs.given["record_shapes"], theirs.given["with_stack"]) == (True, False)
    given = theirs.given["experimental_config"].given
    assert (given["profiler_level"], given["aic_metrics"]) == ("theirs.Level1", "theirs.PipeUtilization")
    assert (given["mstx"], given["l2_cache"], given["export_type"]) == (True, True, ["theirs.Text"])
    (window,) = (entry.directory for entry in prof.windows)
    assert (window / "PROF_000001_1_A" / "device_0" / "x").is_file()
    assert json.loads((window / "profiler_info_0.json").read_text()) == "theirs"
    assert (window / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()
    assert not (window / "collector").exists()
    about = json.loads((window / "stepscope.json").read_text())
    assert (about["device"]["kind"], about["versions"]["torch_npu"]) == ("npu", "2.14.0")
    assert any("pcie is not supported" in text for text in said)


@pytest.mark.usefixtures("npu")
def test_without_the_accelerator_among_the_activities_the_host_is_recorded_as_ever(tmp_path: Path) -> None:
    from stepscope.profiler.backends.torch import TorchBackend, make
    from stepscope.profiler.settings.profile_settings import checked

    assert type(make(checked(activities=[ProfilerActivity.CPU]))) is TorchBackend
