"""Records a data-parallel training of four processes over gloo, healthy and with a slow rank planted.

    python tests/recordings/four_ranks.py --out tests/data --device cpu|cuda

Needs PyTorch alone. All four processes share one CUDA device, or the cores of one machine. Each recording is a folder
of four traces; beside it stands the planted fault and the clock that each rank kept by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from neutral_files import keep_folder, working_folder
from step_clock import StepClock
from torch import distributed
from torch.utils.data import DataLoader, Dataset

RANKS = 4
WAIT, WARM_UP, ACTIVE = 2, 2, 5
STEPS = WAIT + WARM_UP + ACTIVE
LAYERS = 4
#: So that each layer's gradients are reduced on their own, while the layers before it still run backward.
BUCKET_MB = 0.5


@dataclass(frozen=True)
class Size:
    """How large the model is on a device, and how much a slow rank does more."""

    batch: int
    width: int
    extra_matmuls: int
    python_loops_per_layer: int


SIZES = {
    "cpu": Size(batch=512, width=512, extra_matmuls=16, python_loops_per_layer=60_000),
    "cuda": Size(batch=8192, width=1024, extra_matmuls=100, python_loops_per_layer=150_000),
}
LATE_BATCH_S = 0.03


@dataclass(frozen=True)
class Fault:
    """What is planted: the cause that a diagnosis should give, and the ranks that have it."""

    cause: str
    ranks: tuple[int, ...]


FAULTS = {
    "healthy": Fault("none", ()),
    "slow_compute": Fault("compute", (2,)),
    "slow_data": Fault("data", (1,)),
    "slow_host": Fault("host", (3,)),
    "slow_backward": Fault("compute", (2,)),
    "two_slow": Fault("compute", (1, 3)),
}


class Batches(Dataset):  # type: ignore[misc]
    """One item is one batch; on a rank with a slow loader it comes late."""

    def __init__(self, size: Size, late: bool) -> None:
        self.rows, self.late = torch.ones(size.batch, size.width), late

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, number: int) -> Any:
        del number
        if self.late:
            time.sleep(LATE_BATCH_S)
        return self.rows


class ExtraBackward(torch.autograd.Function):  # type: ignore[misc]
    """Passes its input on, and multiplies matrices on the way back."""

    @staticmethod
    def forward(ctx: Any, inputs: Any, matmuls: int) -> Any:
        ctx.matmuls = matmuls
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        multiply(gradient, ctx.matmuls)
        return gradient, None


def multiply(rows: Any, times: int) -> None:
    square = torch.ones(rows.shape[1], rows.shape[1], device=rows.device)
    for _ in range(times):
        torch.mm(rows, square)


def work_in_python(loops: int) -> None:
    total = 0
    for number in range(loops):
        total += number


class Model(torch.nn.Module):  # type: ignore[misc]
    """A stack of linear layers, with the rank's fault inside."""

    def __init__(self, size: Size, fault: str | None) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(size.width, size.width) for _ in range(LAYERS))
        self.size, self.fault = size, fault

    def forward(self, rows: Any) -> Any:
        if self.fault in ("slow_compute", "two_slow"):
            multiply(rows, self.size.extra_matmuls)
        for number, layer in enumerate(self.layers):
            if self.fault == "slow_host":
                work_in_python(self.size.python_loops_per_layer)
            rows = torch.relu(layer(rows))
            # Half way back, so that the first gradients are being reduced while the slow work runs.
            if self.fault == "slow_backward" and number == LAYERS // 2:
                rows = ExtraBackward.apply(rows, self.size.extra_matmuls)
        return rows


def training_step(model: Any, optimizer: Any, device: str) -> Callable[[Any], None]:
    def step(batch: Any) -> None:
        inputs = batch.to(device)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if device == "cuda":
            torch.cuda.synchronize()

    return step


def run_rank(rank: int, device: str, name: str, port: int, folder: str) -> None:
    """One process of the job; leaves its trace and its clock in the folder."""
    from torch.profiler import profile, schedule

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(max(1, (os.cpu_count() or RANKS) // RANKS - 1))
    torch.manual_seed(0)
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    size, fault = SIZES[device], name if rank in FAULTS[name].ranks else None
    model = torch.nn.parallel.DistributedDataParallel(Model(size, fault).to(device), bucket_cap_mb=BUCKET_MB)
    step = training_step(model, torch.optim.SGD(model.parameters(), lr=0.01), device)
    clock = StepClock(rank=rank, recorded=list(range(WAIT + WARM_UP, STEPS)))
    trace = Path(folder) / f"rank{rank}.json"
    with profile(
        schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
        on_trace_ready=lambda prof: prof.export_chrome_trace(str(trace)),
        record_shapes=True,
    ) as prof:
        batches = iter(DataLoader(Batches(size, fault == "slow_data"), batch_size=None))
        for number in range(STEPS):
            clock.begin(number)
            batch = next(batches)
            clock.got_batch()
            step(batch)
            clock.end()
            prof.step()
    clock.write(Path(folder) / f"rank{rank}.clock")
    distributed.barrier()
    distributed.destroy_process_group()


def record(name: str, device: str, out: Path, port: int) -> None:
    with working_folder() as folder:
        torch.multiprocessing.spawn(run_rank, (device, name, port, str(folder)), nprocs=RANKS)
        clocks = [folder / f"rank{rank}.clock" for rank in range(RANKS)]
        fault = {"cause": FAULTS[name].cause, "ranks": list(FAULTS[name].ranks)}
        facts = {
            "torch": torch.__version__,
            "device": device,
            "fault": fault,
            "ranks": [json.loads(clock.read_text()) for clock in clocks],
        }
        (out / f"four_ranks_{device}_{name}.clock.json").write_text(json.dumps(facts, indent=1) + "\n")
        for clock in clocks:
            clock.unlink()
        keep_folder(folder, out / f"four_ranks_{device}_{name}.tar.xz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=sorted(SIZES), required=True)
    parser.add_argument("--fault", choices=sorted(FAULTS), nargs="*", default=list(FAULTS))
    asked = parser.parse_args()
    out = asked.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(asked.fault):
        record(name, asked.device, out, port=29_500 + number)


if __name__ == "__main__":
    main()
