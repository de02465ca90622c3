"""Records a small MindSpore training on a CPU with stepscope.profiler: operators, memory and the data pipeline.

PYTHONPATH=src python tests/recordings/mindspore_cpu.py --out tests/data
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import mindspore
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from neutral_files import keep_folder, working_folder
from step_clock import StepClock

WAIT, WARM_UP, ACTIVE = 1, 1, 4
STEPS = WAIT + WARM_UP + ACTIVE
BATCH, WIDTH = 32, 64


def batches() -> Any:
    """Rows, a map over them, batches."""
    rows = np.ones([2 * BATCH * STEPS, WIDTH], np.float32)
    data = ds.NumpySlicesDataset(rows, ["row"], shuffle=False)
    return data.map(lambda row: row * 2, ["row"], num_parallel_workers=1).batch(BATCH)


def main() -> None:
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    net = nn.SequentialCell(nn.Dense(WIDTH, WIDTH), nn.ReLU(), nn.Dense(WIDTH, WIDTH))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients = mindspore.value_and_grad(lambda row: ops.mse_loss(net(row), row), None, optimizer.parameters)
    clock = StepClock(
        mindspore=mindspore.__version__, batch=BATCH, width=WIDTH, recorded=list(range(WAIT + WARM_UP, STEPS))
    )
    with working_folder() as folder:
        with profile(
            schedule=schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(folder), worker_name="trainer", analyse_flag=False),
            profile_memory=True,
            data_process=True,
        ) as prof:
            source = batches().create_tuple_iterator(num_epochs=1)
            for number in range(STEPS):
                clock.begin(number)
                (row,) = next(source)
                clock.got_batch()
                _, slopes = gradients(row)
                optimizer(slopes)
                clock.end()
                prof.step()
        keep_folder(folder, out / "mindspore_cpu.tar.gz")
    clock.write(out / "mindspore_cpu.clock.json")


if __name__ == "__main__":
    main()
