"""Records a small transformer on a CPU, with shapes: by torch.profiler, and by stepscope.profiler with memory.

PYTHONPATH=src python tests/recordings/torch_cpu.py --out tests/data
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from neutral_files import keep_folder, keep_trace, working_folder
from step_clock import StepClock

WAIT, WARM_UP, ACTIVE = 1, 1, 3
STEPS = WAIT + WARM_UP + ACTIVE
BATCH, LENGTH, WIDTH, HEADS = 4, 32, 64, 4


def run_steps(prof: Any) -> StepClock:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, dim_feedforward=4 * WIDTH, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(layer, torch.nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batch = torch.randn(BATCH, LENGTH, WIDTH)
    shape = {"batch": BATCH, "length": LENGTH, "width": WIDTH, "heads": HEADS}
    clock = StepClock(torch=torch.__version__, **shape, recorded=list(range(WAIT + WARM_UP, STEPS)))
    for number in range(STEPS):
        clock.begin(number)
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        clock.end()
        prof.step()
    return clock


def record_with_torch(out: Path, name: str) -> None:
    from torch.profiler import ProfilerActivity, profile, schedule

    with working_folder() as folder:
        trace = folder / "trace.json"
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
            on_trace_ready=lambda prof: prof.export_chrome_trace(str(trace)),
            record_shapes=True,
        ) as prof:
            clock = run_steps(prof)
        keep_trace(trace, out / f"{name}.json.gz")
    clock.write(out / f"{name}.clock.json")


def record_with_stepscope(out: Path, name: str) -> None:
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    with working_folder() as folder:
        with profile(
            schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(folder), worker_name="trainer", analyse_flag=False),
            record_shapes=True,
            profile_memory=True,
        ) as prof:
            clock = run_steps(prof)
        keep_folder(folder, out / f"{name}.tar.gz")
    clock.write(out / f"{name}.clock.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    record_with_torch(out, "torch_cpu")
    record_with_stepscope(out, "torch_cpu_stepscope")


if __name__ == "__main__":
    main()
