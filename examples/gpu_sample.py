"""Records a small training on a GPU with stepscope.profiler: the for-loop sample, with memory, and a data loader.

    python examples/gpu_sample.py captures

Needs PyTorch and nothing else; analyse the result anywhere with `stepscope analyse captures`.
"""

from __future__ import annotations

import sys

import torch

from stepscope.profiler import ExperimentalConfig, mstx, profile, schedule, tensorboard_trace_handler


def main(folder: str) -> None:
    """Train for nine steps and record the fifth and the sixth."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(9 * 512, 1024))
    loader = torch.utils.data.DataLoader(data, batch_size=512, num_workers=2, pin_memory=device == "cuda")
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=2),
        on_trace_ready=tensorboard_trace_handler(folder, analyse_flag=False),
        profile_memory=True,
        record_shapes=True,
        experimental_config=ExperimentalConfig(mstx=True),
    ) as prof:
        for (batch,) in loader:
            span = mstx.range_start("forward and backward")
            inputs = batch.to(device, non_blocking=True)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs)
            loss.backward()
            mstx.range_end(span)
            optimizer.step()
            optimizer.zero_grad()
            prof.step()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "captures")
