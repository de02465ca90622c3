"""Records a small training on a CUDA device: plain steps, a CUDA graph, and the same steps with stepscope.profiler.

    PYTHONPATH=src python tests/recordings/gpu.py --out tests/data

Needs PyTorch alone, with CUDA; without ``src`` on the path the third recording is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from neutral_files import keep_folder, keep_trace, working_folder
from step_clock import StepClock

WAIT, WARM_UP, ACTIVE = 2, 2, 4
STEPS = WAIT + WARM_UP + ACTIVE
BATCH, WIDTH, HIDDEN = 256, 512, 2048


def new_model() -> Any:
    torch.manual_seed(0)
    layers = torch.nn.Linear(WIDTH, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, WIDTH)
    return torch.nn.Sequential(*layers).to("cuda")


def training_step() -> Callable[[], None]:
    """A step that copies its batch from pinned memory and waits for the loss, as a loop that prints it does."""
    model = new_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batch = torch.randn(BATCH, WIDTH).pin_memory()

    def step() -> None:
        inputs = batch.to("cuda", non_blocking=True)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()

    return step


def graph_step() -> Callable[[], None]:
    """A step that replays a captured forward pass and waits for it."""
    model = new_model()
    inputs = torch.randn(BATCH, WIDTH, device="cuda")
    with torch.no_grad():
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(3):
                model(inputs)
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(inputs)

    def step() -> None:
        graph.replay()
        torch.cuda.synchronize()

    return step


def run_steps(step: Callable[[], None], prof: Any) -> StepClock:
    """The loop; CUDA's own events time each step on the device."""
    facts = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
    clock = StepClock(**facts, batch=BATCH, width=WIDTH, hidden=HIDDEN, recorded=list(range(WAIT + WARM_UP, STEPS)))
    for number in range(STEPS):
        clock.begin(number)
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        step()
        after.record()
        after.synchronize()
        clock.end(between_events_ns=round(before.elapsed_time(after) * 1e6))
        prof.step()
    return clock


def record_with_torch(step: Callable[[], None], out: Path, name: str) -> None:
    from torch.profiler import profile, schedule

    with working_folder() as folder:
        trace = folder / "trace.json"
        with profile(
            schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
            on_trace_ready=lambda prof: prof.export_chrome_trace(str(trace)),
            record_shapes=True,
        ) as prof:
            clock = run_steps(step, prof)
        keep_trace(trace, out / f"{name}.json.gz")
    clock.write(out / f"{name}.clock.json")


def record_with_stepscope(step: Callable[[], None], out: Path, name: str) -> None:
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    with working_folder() as folder:
        with profile(
            schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(folder), worker_name="trainer", analyse_flag=False),
            record_shapes=True,
        ) as prof:
            clock = run_steps(step, prof)
        keep_folder(folder, out / f"{name}.tar.gz")
    clock.write(out / f"{name}.clock.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    record_with_torch(training_step(), out, "gpu_steps")
    record_with_torch(graph_step(), out, "gpu_graph")
    if importlib.util.find_spec("stepscope"):
        record_with_stepscope(training_step(), out, "gpu_stepscope")
    else:
        print("stepscope is not on the path: gpu_stepscope is left out")


if __name__ == "__main__":
    main()
