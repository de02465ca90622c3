"""Measures and records one program with its fault and without: a process of its own for each fault.

python benchmarks/planted/measure.py FAULT --device cuda|cpu --out FOLDER
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import torch
from neutral_files import keep_folder, working_folder

from planted.faults import FAULTS, SWITCHES, Fault
from planted.model import Training

WARM_UP = 8
#: Steps in which the loop settles before a window opens, and those in which PyTorch's profiler warms up.
SETTLE, PROFILER_WARM_UP = 6, 2


def mean_period_us(training: Training, steps: int) -> float:
    """By the wall clock around many steps, without a profiler."""
    for number in range(WARM_UP):
        training.step(number)
    training.wait()
    began = time.perf_counter_ns()
    for number in range(WARM_UP, WARM_UP + steps):
        training.step(number)
    training.wait()
    return (time.perf_counter_ns() - began) / 1000 / steps


def record(training: Training, fault: Fault, first: int, kept: Path) -> None:
    """A window of some steps, as a packed capture directory."""
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    window = schedule(wait=0, warmup=PROFILER_WARM_UP, active=fault.recorded_steps, repeat=1, skip_first=SETTLE)
    with working_folder() as folder:
        ready = tensorboard_trace_handler(str(folder), worker_name="trainer", analyse_flag=False)
        with profile(schedule=window, on_trace_ready=ready, **{**SWITCHES, **fault.switches}) as prof:
            for number in range(SETTLE + PROFILER_WARM_UP + fault.recorded_steps):
                training.step(first + number)
                prof.step()
        keep_folder(folder, kept)


def twin(fault: Fault, device: str, faulty: bool, kept: Path) -> float:
    """The mean period of one of the two programs, and its recording."""
    training = fault.program(device, faulty)
    try:
        period_us = mean_period_us(training, fault.measured_steps)
        record(training, fault, WARM_UP + fault.measured_steps, kept)
    finally:
        training.close()
    del training
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
    return period_us


def device_name(device: str) -> str:
    return str(torch.cuda.get_device_name()) if device == "cuda" else platform.processor() or platform.machine()


def truth(name: str, fault: Fault, device: str, out: Path) -> dict[str, Any]:
    """Both twins, and what the fault costs."""
    without_us = twin(fault, device, False, out / "none.tar.xz")
    with_us = twin(fault, device, True, out / "fault.tar.xz")
    return {
        "fault": name,
        "kinds": list(fault.kinds),
        "gains_time": fault.gains_time,
        "device": device,
        "device_name": device_name(device),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "measured_steps": fault.measured_steps,
        "period_with_us": round(with_us, 1),
        "period_without_us": round(without_us, 1),
        "gain_us": round(with_us - without_us, 1),
        "gain_share": round(1 - without_us / with_us, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fault", choices=sorted(FAULTS))
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    out = asked.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    if asked.device == "cuda":
        torch.backends.cudnn.benchmark = True
    else:
        torch.set_num_threads(1)  # threads that wait for each other on a busy machine measure that machine
    result = truth(asked.fault, FAULTS[asked.fault], asked.device, out)
    (out / "truth.json").write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(f"{asked.fault}: {result['period_without_us']:,.0f} us without, ")
    sys.stdout.write(f"{result['period_with_us']:,.0f} us with the fault ({100 * result['gain_share']:.1f} %)\n")


if __name__ == "__main__":
    main()
