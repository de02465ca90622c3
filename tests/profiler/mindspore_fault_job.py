"""A MindSpore training, recorded again and again: each time another system call of the profiler fails.

    python mindspore_fault_job.py FOLDER MODE FIRST EVERY

MODE is ``once`` or ``from`` (that call and all later ones); tried are call FIRST and every so many after it. MindSpore
is imported once; each training is a forked process that ends as any script ends. A line of JSON says what differs from
the training without a profiler, how many calls a recording makes where all goes well, and how many cases were tried.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore
import mindspore.dataset as ds
import numpy as np
from mindspore import nn

from stepscope.profiler import mstx, profile, schedule, tensorboard_trace_handler
from support.failing_calls import FailingCalls
from support.limits import HANGS_AFTER_S

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


def attempt(folder: Path, mode: str, number: int) -> dict[str, Any]:
    """One training in a process of its own; ``number`` 0 lets all calls go well, mode ``without`` records nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        for name, file in (("stdout", 1), ("stderr", 2)):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), file)
        _job(folder, mode, number)
        sys.exit(0)
    signal.alarm(HANGS_AFTER_S)  # a job that hangs ends the sweep
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    made = folder / "made"
    lines = (folder / "stdout").read_text().splitlines()
    return {
        "code": os.waitstatus_to_exitcode(status),
        "losses": [line for line in lines if not line.startswith("[stepscope]")],  # the profiler's own lines
        "errors": (folder / "stderr").read_text()[-2000:],
        "made": int(made.read_text()) if made.exists() else 0,
    }


def _job(folder: Path, mode: str, number: int) -> None:
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


def main() -> None:
    """One sweep."""
    folder, mode, first, every = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    expected = attempt(folder, "without", 0)
    calls = attempt(folder, "once", 0)["made"]
    wrong, tried = [], 0
    for number in range(first, calls + 1, every):
        seen = attempt(folder, mode, number)
        tried += 1
        if (seen["code"], seen["losses"]) != (expected["code"], expected["losses"]):
            wrong.append({"number": number, **seen})
    print(json.dumps({"losses": len(expected["losses"]), "calls": calls, "tried": tried, "wrong": wrong}))


if __name__ == "__main__":
    main()
