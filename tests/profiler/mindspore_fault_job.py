"""Runs under an interpreter with MindSpore: a training in which system calls of the profiler fail, or none is recorded.

mindspore_fault_job.py FOLDER MODE NUMBER; MODE is ``without`` (a profiler), ``once`` or ``from`` (all later calls too),
NUMBER the call that fails, 0 for none. Losses go to the output; FOLDER/made has the number of calls that were made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import mindspore
import mindspore.dataset as ds
import numpy as np
from mindspore import nn

from stepscope.profiler import mstx, profile, schedule, tensorboard_trace_handler
from support.failing_calls import FailingCalls

STEPS = 6


def train(after_step: Callable[[], None]) -> None:
    mindspore.set_seed(0)
    net = nn.Dense(8, 2, weight_init="ones", bias_init="zeros")
    optimizer = nn.SGD(net.trainable_params(), 0.01)
    loss_of, target = nn.CrossEntropyLoss(), mindspore.Tensor(np.ones([4], np.int32))
    gradients = mindspore.value_and_grad(lambda x: loss_of(net(x), target), None, optimizer.parameters)
    rows = [np.full([8], number / 10, np.float32) for number in range(4 * STEPS)]
    data = ds.GeneratorDataset(rows, ["x"], shuffle=False).batch(4)
    for (batch,) in data.create_tuple_iterator(num_epochs=1):
        loss, grads = gradients(batch)
        optimizer(grads)
        print(float(loss.asnumpy()), flush=True)
        after_step()


def recorded(folder: Path) -> None:
    with profile(
        schedule=schedule(wait=0, warmup=1, active=1, repeat=2),
        profile_memory=True,
        data_process=True,
        mstx=True,
        on_trace_ready=tensorboard_trace_handler(str(folder / "out"), analyse_flag=False),
    ) as prof:

        def after() -> None:
            mstx.mark("step")
            prof.step()

        train(after)


def main() -> None:
    folder, mode, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    if mode == "without":
        train(lambda: None)
        return
    calls = FailingCalls(number, and_all_later=mode == "from")
    calls.install()
    try:
        recorded(folder)
    finally:
        (folder / "made").write_text(str(calls.made))


if __name__ == "__main__":
    main()
