"""What recording costs a PyTorch loop: beside PyTorch's own profiler, and armed but idle."""

from __future__ import annotations

import contextlib
import gc
import itertools
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from results import Row

ROUNDS = 9
STEPS = 50
_IDLE_CALLS = 20_000
_TEN_MS_US = 10_000


def run(device: str = "cpu") -> list[Row]:
    """CPU time of one loop under each profiler, in turn, so that a busy neighbour hits all alike."""
    loop = _loop(device)
    kinds: dict[str, Callable[[Path], Any]] = {"alone": _alone, "torch": _torch, "ours": _ours}
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    elapsed: dict[str, list[float]] = {name: [] for name in kinds}
    for _, (name, made) in itertools.product(range(ROUNDS), kinds.items()):
        used, passed = _measured(loop, made)
        seconds[name].append(used)
        elapsed[name].append(passed)
    best = {name: min(taken) for name, taken in seconds.items()}
    paired = _median_of_pairs(seconds["ours"], seconds["torch"])
    return [
        Row(f"{STEPS} steps under torch.profiler / without, CPU time", best["torch"] / best["alone"], "x"),
        Row(
            f"{STEPS} steps under stepscope.profiler / torch.profiler, CPU time (best)",
            best["ours"] / best["torch"],
            "x",
            "≤ 1.05",
        ),
        Row("the same, median of pairs", paired, "x"),
        Row(
            f"{STEPS} steps with export under stepscope.profiler / torch.profiler, elapsed (median of pairs)",
            _median_of_pairs(elapsed["ours"], elapsed["torch"]),
            "x",
            "≤ 1.15",
        ),
        Row("step() of an armed, idle profile, share of a 10 ms step", _idle_us() / _TEN_MS_US * 100, "%", "≤ 0.5"),
        Row("import stepscope.profiler", _import_ms(), "ms", "≤ 50"),
    ]


def _loop(device: str) -> Callable[[Any], None]:
    import torch

    layers = [layer for _ in range(12) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(64 * (STEPS + 2), 256))

    def loop(profiler: Any) -> None:
        for (batch,) in torch.utils.data.DataLoader(data, batch_size=64):
            optimizer.zero_grad()
            model(batch.to(device)).square().mean().backward()
            optimizer.step()
            if profiler is not None:
                profiler.step()

    return loop


def _median_of_pairs(ours: list[float], theirs: list[float]) -> float:
    """Each run beside the one right before it, which the same neighbours disturbed."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


def _measured(loop: Callable[[Any], None], made: Callable[[Path], Any]) -> tuple[float, float]:
    """CPU time and elapsed time, with all that a profiler does until it lets go of what it recorded: both write their
    trace to the disk."""
    folder = Path(tempfile.mkdtemp())
    try:
        gc.collect()
        began, began_elapsed = time.process_time(), time.perf_counter()
        with made(folder) as profiler:
            loop(profiler)
        del profiler
        gc.collect()
        return time.process_time() - began, time.perf_counter() - began_elapsed
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    del folder
    yield None


def _torch(folder: Path) -> Any:
    from torch.profiler import profile, schedule, supported_activities

    return profile(
        activities=supported_activities(),
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(folder / "trace.json")),
    )


def _ours(folder: Path) -> Any:
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    handler = tensorboard_trace_handler(str(folder), analyse_flag=False)
    return profile(schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1), on_trace_ready=handler)


def _idle_us() -> float:
    from stepscope.profiler import profile, schedule

    profiler = profile(schedule=schedule(skip_first=10**9, wait=0, active=1))
    began = time.process_time()
    for _ in range(_IDLE_CALLS):
        profiler.step()
    taken = time.process_time() - began
    profiler.stop()
    return taken / _IDLE_CALLS * 1e6


def _import_ms() -> float:
    script = "import time; t = time.process_time(); import stepscope.profiler; print((time.process_time() - t) * 1000)"
    return min(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(5))


if __name__ == "__main__":
    for row in run(*sys.argv[1:]):
        print(row.markdown())
