"""A small real training loop to record: a two-layer network on random data, on the GPU if there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepscope.errors import NoAnswerError


def record(directory: Path, steps: int, announce: Callable[[str], None]) -> Path:
    """Train for some steps under PyTorch's profiler; the trace it wrote. ``announce`` is told PyTorch's version."""
    try:
        import torch
        from torch.profiler import ProfilerActivity, profile, schedule
    except ImportError:
        raise NoAnswerError("demo_needs_torch") from None
    announce(str(torch.__version__))
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    samples = 64 * (steps + 2)
    data = torch.utils.data.TensorDataset(torch.randn(samples, 512), torch.randint(0, 10, (samples,)))
    directory.mkdir(parents=True, exist_ok=True)
    trace = directory / "demo.pt.trace.json"
    with profile(
        activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])],
        schedule=schedule(wait=1, warmup=1, active=steps, repeat=1),
        on_trace_ready=lambda finished: finished.export_chrome_trace(str(trace)),
        record_shapes=True,
        profile_memory=True,
    ) as profiler:
        for inputs, labels in torch.utils.data.DataLoader(data, batch_size=64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
            optimizer.step()
            profiler.step()
    return trace
