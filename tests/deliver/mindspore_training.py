"""Runs under an interpreter with MindSpore: a training of one rank, or of several under msrun, that records itself.

mindspore_training.py FOLDER WORLD
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import mindspore
import mindspore.communication
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops

from deliver.recorded_loop import recorded_loop


def rows() -> Iterator[tuple[Any, Any]]:
    for number in range(320):
        yield np.full([16], number, np.float32), np.ones([], np.int32)


def batches() -> Any:
    data = ds.GeneratorDataset(rows, ["x", "y"], shuffle=False)
    data = data.map(np.sin, ["x"], num_parallel_workers=2, python_multiprocessing=False)
    return data.batch(32).create_tuple_iterator(num_epochs=1)


def train(folder: str, reduce: Any) -> None:
    net = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 4))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    loss_of = nn.CrossEntropyLoss()
    gradients = mindspore.value_and_grad(lambda x, y: loss_of(net(x), y), None, optimizer.parameters)

    def train_on(batch: tuple[Any, Any]) -> None:
        loss, grads = gradients(*batch)
        optimizer(tuple(reduce(one) for one in grads))
        loss.asnumpy()

    recorded_loop(folder, batches, train_on, wait=1)


def main() -> None:
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    if int(sys.argv[2]) == 1:
        train(sys.argv[1], lambda one: one)
        return
    mindspore.communication.init()
    train(sys.argv[1], ops.AllReduce())
    mindspore.communication.release()


if __name__ == "__main__":
    main()
