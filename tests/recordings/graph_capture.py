"""Records CUDA graphs as servers use them: captured with operators, replayed with kernels alone.

    python tests/recordings/graph_capture.py --out tests/data

Needs PyTorch alone, with CUDA. ``graph_both`` is one trace with captures and replays; ``graph_serving`` is a folder
with the traces of the captures in a folder of their own, and the trace of the replays. What each graph holds is written
down beside them: the operators that an eager run of the same batch launches, in their order.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from neutral_files import keep_folder, keep_trace, working_folder
from torch.profiler import ProfilerActivity, profile, record_function

WIDTH, HIDDEN = 256, 1024
BATCHES = (64, 32)
REPLAYS = 3
Graph = Any


def new_model() -> Any:
    torch.manual_seed(0)
    layers = torch.nn.Linear(WIDTH, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, WIDTH), torch.nn.LayerNorm(WIDTH)
    return torch.nn.Sequential(*layers).to("cuda")


def warmed_up(model: Any) -> dict[int, Any]:
    """A batch of each size, after the model has run on each, as a capture needs it."""
    batches = {size: torch.randn(size, WIDTH, device="cuda") for size in BATCHES}
    beside = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(beside):
        for batch in batches.values():
            for _ in range(3):
                model(batch)
    torch.cuda.synchronize()
    return batches


def captured(model: Any, batch: Any) -> Graph:
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(batch)
    return graph


def replay(graphs: dict[int, Graph]) -> None:
    for _ in range(REPLAYS):
        for size, graph in graphs.items():
            with record_function(f"execute_context_0(0)_generation_{size}({size})"):
                graph.replay()
                torch.cuda.synchronize()


def recorded(work: Callable[[], Any], trace: Path) -> Any:
    """Do some work under the profiler; gives what it gives."""
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, record_shapes=True, with_stack=True) as prof:
        made = work()
        torch.cuda.synchronize()
    trace.parent.mkdir(parents=True, exist_ok=True)
    prof.export_chrome_trace(str(trace))
    return made


def eager_kernels(model: Any, batch: Any) -> list[dict[str, Any]]:
    """Kernel, operator and shapes of each kernel of an eager run, in the order of the device."""
    with working_folder() as folder:
        trace = folder / "eager.json"
        with torch.no_grad():
            recorded(lambda: model(batch), trace)
        events = json.loads(trace.read_text())["traceEvents"]
    operators = {event["args"]["External id"]: event for event in events if event.get("cat") == "cpu_op"}
    kernels = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    rows = []
    for event in sorted(kernels, key=lambda event: event["ts"]):
        operator = operators[event["args"]["External id"]]
        rows.append({"kernel": event["name"], "operator": operator["name"], "shapes": operator["args"]["Input Dims"]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    model = new_model()
    batches = warmed_up(model)
    eager = {size: eager_kernels(model, batch) for size, batch in batches.items()}
    facts = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "replays": REPLAYS, "eager": eager}
    (out / "graph_capture.facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    with working_folder() as folder:

        def both() -> None:
            graphs = {}
            for size, batch in batches.items():
                with record_function(f"capture_{size}_decode"):
                    graphs[size] = captured(model, batch)
            replay(graphs)

        recorded(both, folder / "trace.json")
        keep_trace(folder / "trace.json", out / "graph_both.json.gz")
    with working_folder() as folder:
        graphs = {}
        for size, batch in batches.items():
            name = f"DecodeRunner_bs_{size}_rank0.json"
            graphs[size] = recorded(partial(captured, model, batch), folder / "graph_capture_profile" / name)
        recorded(lambda: replay(graphs), folder / "serving_rank0.json")
        keep_folder(folder, out / "graph_serving.tar.gz")


if __name__ == "__main__":
    main()
