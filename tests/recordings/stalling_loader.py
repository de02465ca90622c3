"""Records a training whose DataLoader stalls: every fourth batch, or every second step because both workers are slow.

    PYTHONPATH=src python tests/recordings/stalling_loader.py --out tests/data

The loop's own clock, written beside each recording, says how long each step waited for its batch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from neutral_files import keep_folder, keep_trace, working_folder
from step_clock import StepClock
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH = 128, 1024
WAIT, WARM_UP, ACTIVE = 2, 2, 12
STEPS = WAIT + WARM_UP + ACTIVE
STALL_S = 0.3


class StallingBatches(Dataset):  # type: ignore[misc]
    """One item is one batch; ``stall`` is called with its number before it is made."""

    def __init__(self, stall: Callable[[int], None]) -> None:
        self.stall = stall

    def __len__(self) -> int:
        return STEPS + 8

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
    clock = StepClock(torch=torch.__version__, stall_s=STALL_S, recorded=list(range(WAIT + WARM_UP, STEPS)))
    batches = iter(loader)
    for number in range(STEPS):
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


def record_with_torch(loader: Any, out: Path, name: str) -> None:
    from torch.profiler import ProfilerActivity, profile, schedule

    with working_folder() as folder:
        trace = folder / "trace.json"
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
            on_trace_ready=lambda prof: prof.export_chrome_trace(str(trace)),
        ) as prof:
            clock = run_steps(loader, prof)
        keep_trace(trace, out / f"{name}.json.gz")
    clock.write(out / f"{name}.clock.json")


def record_with_stepscope(loader: Any, out: Path, name: str) -> None:
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    with working_folder() as folder:
        with profile(
            schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(folder), worker_name="trainer", analyse_flag=False),
            data_process=True,
        ) as prof:
            clock = run_steps(loader, prof)
        keep_folder(folder, out / f"{name}.tar.gz")
    clock.write(out / f"{name}.clock.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name, (stall, workers) in LOADERS.items():
        for record, suffix in ((record_with_torch, ""), (record_with_stepscope, "_stepscope")):
            loader = DataLoader(StallingBatches(stall), batch_size=None, num_workers=workers)
            record(loader, out, name + suffix)


if __name__ == "__main__":
    main()
