"""A small training that the MindSpore samples record: one dense layer on made-up data."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import mindspore
import mindspore.dataset as ds
import numpy as np
from mindspore import nn


class Net(nn.Cell):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(2, 2)

    def construct(self, x):
        return self.fc(x)


def set_up() -> str:
    """Mode (graph or pynative) and folder from the command line; returns the folder."""
    graph = len(sys.argv) > 1 and sys.argv[1] == "graph"
    mindspore.set_context(mode=mindspore.GRAPH_MODE if graph else mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    return sys.argv[2] if len(sys.argv) > 2 else "./data"


def batches(count: int) -> ds.Dataset:
    """A pipeline of so many batches."""

    def rows() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for _ in range(count):
            yield np.ones([2, 2], np.float32), np.ones([2], np.int32)

    return ds.GeneratorDataset(rows, ["data", "label"])


def model(net: nn.Cell) -> mindspore.train.Model:
    """The network with loss and optimizer."""
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    return mindspore.train.Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True), optimizer)


def train(net: nn.Cell) -> None:
    """One step of a loop, as the documented samples have it: a short training by itself."""
    model(net).train(1, batches(2))
