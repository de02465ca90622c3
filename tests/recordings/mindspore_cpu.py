"""Records a small MindSpore training on a CPU with stepscope.profiler: operators, memory and the data pipeline.

PYTHONPATH=src python tests/recordings/mindspore_cpu.py --out tests/data
"""

from __future__ import annotations

from typing import Any

import mindspore
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from recorders import Window, out_folder, record_with_stepscope
from step_clock import StepClock

WINDOW = Window(wait=1, warm_up=1, active=4)
BATCH, WIDTH = 32, 64


def batches() -> Any:
    """Rows, a map over them, batches."""
    rows = np.ones([2 * BATCH * WINDOW.steps, WIDTH], np.float32)
    data = ds.NumpySlicesDataset(rows, ["row"], shuffle=False)
    return data.map(lambda row: row * 2, ["row"], num_parallel_workers=1).batch(BATCH)


def run_steps(prof: Any) -> StepClock:
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    net = nn.SequentialCell(nn.Dense(WIDTH, WIDTH), nn.ReLU(), nn.Dense(WIDTH, WIDTH))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients = mindspore.value_and_grad(lambda row: ops.mse_loss(net(row), row), None, optimizer.parameters)
    clock = StepClock(mindspore=mindspore.__version__, batch=BATCH, width=WIDTH, recorded=WINDOW.recorded)
    source = batches().create_tuple_iterator(num_epochs=1)
    for number in range(WINDOW.steps):
        clock.begin(number)
        (row,) = next(source)
        clock.got_batch()
        _, slopes = gradients(row)
        optimizer(slopes)
        clock.end()
        prof.step()
    return clock


def main() -> None:
    out = out_folder(__doc__)
    record_with_stepscope(WINDOW, run_steps, out, "mindspore_cpu", profile_memory=True, data_process=True)


if __name__ == "__main__":
    main()
