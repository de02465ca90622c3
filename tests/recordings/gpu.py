"""Records a small training on a CUDA device: plain steps, a CUDA graph, and the same steps with stepscope.profiler.

    PYTHONPATH=src python tests/recordings/gpu.py --out tests/data

Needs PyTorch alone, with CUDA; without ``src`` on the path the third recording is left out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from recorders import Loop, Window, out_folder, record_with_stepscope, record_with_torch, time_between_events

WINDOW = Window(wait=2, warm_up=2, active=4)
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


def main() -> None:
    out = out_folder(__doc__)
    facts = {"batch": BATCH, "width": WIDTH, "hidden": HIDDEN}

    def timed(step: Callable[[], None]) -> Loop:
        return lambda prof: time_between_events(WINDOW, step, prof, **facts)

    record_with_torch(WINDOW, timed(training_step()), out, "gpu_steps", record_shapes=True)
    record_with_torch(WINDOW, timed(graph_step()), out, "gpu_graph", record_shapes=True)
    if importlib.util.find_spec("stepscope"):
        record_with_stepscope(WINDOW, timed(training_step()), out, "gpu_stepscope", record_shapes=True)
    else:
        print("stepscope is not on the path: gpu_stepscope is left out")


if __name__ == "__main__":
    main()
