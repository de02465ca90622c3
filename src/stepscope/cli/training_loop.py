"""A small real training loop to record: a two-layer network on random data, on the GPU if there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepscope.errors import NoAnswerError


def record(directory: Path, steps: int, announce: Callable[[str], None]) -> Path:
    """Train for some steps under our own profiler; the capture it wrote. ``announce`` is told PyTorch's version."""
    try:
        import torch
    except ImportError:
        raise NoAnswerError("demo_needs_torch") from None
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    announce(str(torch.__version__))
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    samples = 64 * (steps + 2)
    data = torch.utils.data.TensorDataset(torch.randn(samples, 512), torch.randint(0, 10, (samples,)))
    with profile(
        schedule=schedule(wait=1, warmup=1, active=steps, repeat=1),
        on_trace_ready=tensorboard_trace_handler(str(directory), worker_name="demo"),
        record_shapes=True,
        profile_memory=True,
    ) as profiler:
        for inputs, labels in torch.utils.data.DataLoader(data, batch_size=64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
            optimizer.step()
            profiler.step()
    if not profiler.windows:
        raise NoAnswerError("demo_recorded_nothing")
    return profiler.windows[-1].directory
