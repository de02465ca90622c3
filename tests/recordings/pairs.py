"""Records one training program in pairs that a comparison should explain: 32-bit and bf16, eager and compiled.

    python tests/recordings/pairs.py --out tests/data

Needs PyTorch alone, with CUDA; the compiled one also a C compiler. The first is recorded twice, to show what is noise.
Beside each recording stands the clock that the loop kept by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from recorders import Window, out_folder, record_with_torch, time_between_events

WINDOW = Window(wait=6, warm_up=2, active=6)
LAYERS, WIDTH, HEADS = 3, 1024, 16
BATCH, LENGTH = 16, 256


class Block(torch.nn.Module):  # type: ignore[misc]
    """Attention and a feed-forward part, each with its residual."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention = torch.nn.LayerNorm(WIDTH)
        self.queries_keys_values = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.attended = torch.nn.Linear(WIDTH, WIDTH)
        self.before_feed_forward = torch.nn.LayerNorm(WIDTH)
        self.feed_forward = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        parts = (
            self.queries_keys_values(self.before_attention(hidden)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        )
        attention = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        hidden = hidden + self.attended(attention.transpose(1, 2).flatten(2))
        return hidden + self.feed_forward(self.before_feed_forward(hidden))


def training_step(bf16: bool, compiled: bool) -> Callable[[], None]:
    """A step without synchronisation, as a loop that rarely prints."""
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")
    model: Any = torch.nn.Sequential(*(Block() for _ in range(LAYERS))).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    batch = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
    forward = torch.compile(model) if compiled else model

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16) if bf16 else nullcontext():
            loss = torch.nn.functional.mse_loss(forward(batch), batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def record(step: Callable[[], None], out: Path, name: str) -> None:
    """Steps that wait for the device only after the window, and the mean step between CUDA's own events."""
    record_with_torch(WINDOW, partial(time_between_events, WINDOW, step), out, name, record_shapes=True)


def main() -> None:
    out = out_folder(__doc__)
    record(training_step(bf16=False, compiled=False), out, "pair_fp32")
    record(training_step(bf16=False, compiled=False), out, "pair_fp32_again")
    record(training_step(bf16=True, compiled=False), out, "pair_bf16")
    record(training_step(bf16=True, compiled=True), out, "pair_bf16_compiled")


if __name__ == "__main__":
    main()
