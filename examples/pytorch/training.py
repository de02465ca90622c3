"""A small training that the PyTorch samples record: two layers on made-up data, on the GPU if there is one."""

from __future__ import annotations

import sys
from typing import Any

import torch


class Training:
    """Model, optimizer and one step."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        layers = (torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        self.model = torch.nn.Sequential(*layers).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self) -> None:
        """Forward, backward, update."""
        inputs = torch.randn(32, 64).to(self.device)
        labels = torch.randint(0, 10, (32,)).to(self.device)
        self.optimizer.zero_grad()
        torch.nn.functional.cross_entropy(self.model(inputs), labels).backward()
        self.optimizer.step()

    def run(self, steps: int, callback: Any) -> None:
        """A trainer that owns the loop and tells a callback the number of each step, from 1."""
        for number in range(1, steps + 1):
            callback.on_train_step_begin(number)
            self.step()
            callback.on_train_step_end(number)
        callback.on_train_end()


def folder() -> str:
    """From the command line."""
    return sys.argv[1] if len(sys.argv) > 1 else "./data"
