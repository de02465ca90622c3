"""GPUs and NPUs of this machine, their drivers, and whether a profiler may read their counters."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from stepscope.doctor.check import Check, Sentence
from stepscope.doctor.versions import torch_cuda

#: What NVIDIA's driver says of itself: who may read counters.
_DRIVER_PARAMETERS: Final = Path("/proc/driver/nvidia/params")
_LONGEST_S: Final = 15
_QUERY: Final = ("--query-gpu=name,driver_version,memory.total,memory.free", "--format=csv,noheader")


def accelerator_checks() -> list[Check]:
    """NVIDIA's devices with driver and permission, then Ascend's."""
    gpus = _gpus()
    return [_gpu(gpus), *([_driver(gpus), _counters(_DRIVER_PARAMETERS)] if gpus else []), _npu()]


def _gpus() -> list[list[str]]:
    lines = _printed_by("nvidia-smi", *_QUERY)
    return [[part.strip() for part in line.split(",")] for line in lines.splitlines() if line.count(",") == 3]


def _printed_by(program: str, *arguments: str) -> str:
    """What a program prints; nothing where it is missing, fails or hangs."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_LONGEST_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _gpu(gpus: list[list[str]]) -> Check:
    if not gpus:
        return Check(section="accelerators", name="gpu", state="absent")
    value = f"{len(gpus)} x {gpus[0][0]}, {gpus[0][3]} of {gpus[0][2]} free"
    return Check(section="accelerators", name="gpu", state="ok", value=value)


def _driver(gpus: list[list[str]]) -> Check:
    """The newest CUDA that a driver knows must not be older than the one PyTorch was built for, within a generation."""
    newest = re.search(r"CUDA Version:\s*([\d.]+)", _printed_by("nvidia-smi"))
    built = torch_cuda()
    too_old = newest is not None and built is not None and int(newest[1].split(".")[0]) < int(built.split(".")[0])
    remedy = Sentence.of("doctor_remedy.driver", driver=newest[1], built=built) if too_old and newest else None
    return Check(
        section="accelerators",
        name="driver",
        state="problem" if too_old else "ok",
        value=gpus[0][1] + (f" (CUDA {newest[1]})" if newest else ""),
        remedy=remedy,
    )


def _counters(parameters: Path) -> Check:
    try:
        content = parameters.read_text("utf-8", errors="replace")
    except OSError:
        return Check(section="accelerators", name="gpu_counters", state="absent")
    restricted = re.search(r"RmProfilingAdminOnly:\s*1", content) is not None
    refused = restricted and os.geteuid() != 0
    return Check(
        section="accelerators",
        name="gpu_counters",
        state="warning" if refused else "ok",
        remedy=Sentence.of("doctor_remedy.gpu_counters") if refused else None,
    )


def _npu() -> Check:
    devices = sorted(Path("/dev").glob("davinci[0-9]*"))
    if not devices:
        return Check(section="accelerators", name="npu", state="absent")
    return Check(section="accelerators", name="npu", state="ok", value=str(len(devices)))
