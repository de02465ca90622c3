"""Records a training whose DataLoader stalls: every fourth batch, or every second step because both workers are slow.

    PYTHONPATH=src python tests/recordings/stalling_loader.py --out tests/data

The loop's own clock, written beside each recording, says how long each step waited for its batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from recorders import Window, out_folder, record_with_stepscope, record_with_torch
from step_clock import StepClock
from torch.profiler import ProfilerActivity
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH = 128, 1024
WINDOW = Window(wait=2, warm_up=2, active=12)
STALL_S = 0.3


class StallingBatches(Dataset):  # type: ignore[misc]
    """One item is one batch; ``stall`` is called with its number before it is made."""

    def __init__(self, stall: Callable[[int], None]) -> None:
        self.stall = stall

    def __len__(self) -> int:
        return WINDOW.steps + 8

    def __getitem__(self, batch: int) -> Any:
        self.stall(batch)
        return torch.full((BATCH, WIDTH), float(batch))


def every_fourth(batch: int) -> None:
    if batch % 4 == 3:
        time.sleep(STALL_S)


def until_the_next_beat(batch: int) -> None:
    """All workers wake up together, so that two of them bring two batches at a time."""
    del batch
    time.sleep(STALL_S - time.time() % STALL_S)


#: Name of the recording: how batches stall, and how many workers load them. Where two workers bring two batches at a
#: time, the loop waits in every second step.
LOADERS: dict[str, tuple[Callable[[int], None], int]] = {
    "loader_every_fourth": (every_fourth, 0),
    "loader_two_workers": (until_the_next_beat, 2),
}


def run_steps(loader: Any, prof: Any) -> StepClock:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    clock = StepClock(torch=torch.__version__, stall_s=STALL_S, recorded=WINDOW.recorded)
    batches = iter(loader)
    for number in range(WINDOW.steps):
        clock.begin(number)
        batch = next(batches)
        clock.got_batch()
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        clock.end()
        prof.step()
    return clock


def main() -> None:
    out = out_folder(__doc__)
    torch.set_num_threads(1)
    for name, (stall, workers) in LOADERS.items():

        def loop(prof: Any, stall: Callable[[int], None] = stall, workers: int = workers) -> StepClock:
            return run_steps(DataLoader(StallingBatches(stall), batch_size=None, num_workers=workers), prof)

        record_with_torch(WINDOW, loop, out, name, activities=[ProfilerActivity.CPU])
        record_with_stepscope(WINDOW, loop, out, f"{name}_stepscope", data_process=True)


if __name__ == "__main__":
    main()
