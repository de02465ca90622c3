"""The small training that all planted programs share: a stack of linear layers, a loss, an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

FEATURES = 64


@dataclass(frozen=True)
class Size:
    """How large the model is; on a GPU large enough for the host to run ahead of the device."""

    batch: int
    width: int
    layers: int


#: By device. On the GPU about 20 ms a step: sixty launches that a host needs some 6 ms for while it is recorded.
SIZES = {"cpu": Size(batch=256, width=256, layers=4), "cuda": Size(batch=32768, width=3072, layers=6)}


def precision(device: str) -> Any:
    """What a healthy training computes in."""
    return torch.bfloat16 if device == "cuda" else torch.float32


class Stack(torch.nn.Module):  # type: ignore[misc]
    """Linear layers with an activation between them; ``after_layer`` sees what each one gives."""

    def __init__(self, size: Size, activation: Callable[[Any], Any] = torch.nn.functional.gelu) -> None:
        super().__init__()
        self.first = torch.nn.Linear(FEATURES, size.width)
        self.middle = torch.nn.ModuleList(torch.nn.Linear(size.width, size.width) for _ in range(size.layers))
        self.last = torch.nn.Linear(size.width, FEATURES)
        self.activation = activation
        self.after_layer: Callable[[Any], Any] = lambda rows: rows

    def forward(self, rows: Any) -> Any:
        rows = self.first(rows)
        for layer in self.middle:
            rows = self.after_layer(self.activation(layer(rows)))
        return self.last(rows)


class Training:
    """A training loop taken apart into its steps. The host is at most one step ahead of the device."""

    def __init__(self, device: str, size: Size | None = None, dtype: Any = None) -> None:
        torch.manual_seed(0)
        self.device = device
        self.size = size or SIZES[device]
        self.dtype = dtype or precision(device)
        self.model: Any = self.new_model().to(device, self.dtype)
        self.optimizer = self.new_optimizer()
        self.ready_batch = torch.randn(self.size.batch, FEATURES, device=device, dtype=self.dtype)
        self._done: Any = None

    def new_model(self) -> Any:
        return Stack(self.size)

    def new_optimizer(self) -> Any:
        return torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9, foreach=True)

    def batch(self, number: int) -> Any:
        """The inputs of a step, on the device."""
        del number
        return self.ready_batch

    def loss(self, outputs: Any, inputs: Any) -> Any:
        return torch.nn.functional.mse_loss(outputs, inputs)

    def train(self, number: int) -> None:
        """Forward, backward, optimizer."""
        inputs = self.batch(number)
        loss = self.loss(self.model(inputs), inputs)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def step(self, number: int) -> None:
        self.train(number)
        self._wait_for_step_before()

    def wait(self) -> None:
        """Until the device has done everything."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def close(self) -> None:
        """Give back what outlives the object."""

    def _wait_for_step_before(self) -> None:
        if self.device != "cuda":
            return
        before, self._done = self._done, torch.cuda.Event()
        self._done.record()
        if before is not None:
            before.synchronize()
