"""Records a small transformer on a CPU, with shapes: by torch.profiler, and by stepscope.profiler with memory.

PYTHONPATH=src python tests/recordings/torch_cpu.py --out tests/data
"""

from __future__ import annotations

from typing import Any

import torch
from recorders import Window, out_folder, record_with_stepscope, record_with_torch
from step_clock import StepClock
from torch.profiler import ProfilerActivity

WINDOW = Window(wait=1, warm_up=1, active=3)
BATCH, LENGTH, WIDTH, HEADS = 4, 32, 64, 4


def run_steps(prof: Any) -> StepClock:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, dim_feedforward=4 * WIDTH, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(layer, torch.nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batch = torch.randn(BATCH, LENGTH, WIDTH)
    shape = {"batch": BATCH, "length": LENGTH, "width": WIDTH, "heads": HEADS}
    clock = StepClock(torch=torch.__version__, **shape, recorded=WINDOW.recorded)
    for number in range(WINDOW.steps):
        clock.begin(number)
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        clock.end()
        prof.step()
    return clock


def main() -> None:
    out = out_folder(__doc__)
    record_with_torch(WINDOW, run_steps, out, "torch_cpu", activities=[ProfilerActivity.CPU], record_shapes=True)
    record_with_stepscope(WINDOW, run_steps, out, "torch_cpu_stepscope", record_shapes=True, profile_memory=True)


if __name__ == "__main__":
    main()
