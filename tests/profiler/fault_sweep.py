"""A training, recorded in one way, again and again: each time another system call of the profiler fails.

    python fault_sweep.py FOLDER WAY,MODE,EVERY ...

MODE is ``once``, ``from`` (that call and all later ones), or a real shortage by its name in ``support.shortages``.
EVERY tries only every so many calls or cases. PyTorch is imported once for all sweeps; each training is a forked
process that ends as any script ends. For each sweep a line of JSON says what differs from the training without a
profiler, how many calls a recording makes where all goes well, and how many cases were tried.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
import torch._inductor.config

import stepscope
from support.failing_calls import FailingCalls
from support.shortages import KINDS, Shortage, file_system_for

STEPS = 6
#: What ``by_trigger`` finds as its config.
TRIGGER = {"start_step": 2, "stop_step": 3, "analyse": True}
START_UP = str(Path(stepscope.__file__).parent / "profiler" / "starting" / "bootstrap" / "sitecustomize.py")
START_UP_CODE = compile(Path(START_UP).read_text("utf-8"), START_UP, "exec")


class Rows:
    """A data set."""

    def __len__(self) -> int:
        return 4 * STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((8,), index / 10)


class Strikes:
    """What happens to the machine between two steps."""

    after_step: Callable[[int], None] = staticmethod(lambda steps_done: None)


def train(after_step: Callable[[], None] = lambda: None) -> None:
    """The training: its losses go to the output."""
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number, batch in enumerate(torch.utils.data.DataLoader(Rows(), batch_size=4), 1):
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(loss.item(), flush=True)
        Strikes.after_step(number)
        after_step()


def without(folder: Path) -> None:
    """As it is without us."""
    del folder
    train()


def in_code(folder: Path) -> None:
    """Two windows, parsed beside the training; marks."""
    from stepscope.profiler import mstx, profile, schedule, tensorboard_trace_handler

    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with profile(
        schedule=plan,
        with_stack=True,
        profile_memory=True,
        on_trace_ready=tensorboard_trace_handler(str(folder / "out"), async_mode=True),
        mstx=True,
    ) as prof:
        prof.add_metadata("key", "value")

        def after() -> None:
            mstx.mark("step")
            prof.step()

        train(after)


def whole_run(folder: Path) -> None:
    """One window without a schedule: the optimizer's hook writes."""
    from stepscope.profiler import profile, tensorboard_trace_handler

    prof = profile(on_trace_ready=tensorboard_trace_handler(str(folder / "out")))
    train()
    prof.stop()


def in_a_thread(folder: Path) -> None:
    """The training runs in a thread of its own, the profile ends in another; signals come all the time."""
    from stepscope.profiler import profile, schedule

    signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    profiles = []

    def work() -> None:
        prof = profile(schedule=schedule(wait=0, active=2), output_path=str(folder / "out"))
        profiles.append(prof)
        train(prof.step)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    profiles[0].stop()
    signal.setitimer(signal.ITIMER_REAL, 0)


def by_launcher(folder: Path) -> None:
    """As below ``stepscope profile --all -- CMD``, from its start-up file on."""
    by_launcher_with({"output_path": str(folder / "out"), "analyse": True, "all": True})


def by_launcher_with_schedule(folder: Path) -> None:
    """The same with ``--active``."""
    plan = {"repeat": 1, "active": 2, "warmup": 1}
    by_launcher_with({"output_path": str(folder / "out"), "analyse": True, "schedule": plan})


def by_launcher_with(options: dict[str, Any]) -> None:
    """Begin as the start-up file does."""
    os.environ["STEPSCOPE_PROFILE"] = json.dumps({**options, "launcher": os.getpid()})
    exec(START_UP_CODE, {"__name__": "sitecustomize", "__file__": START_UP})  # the interpreter has it before all else
    train()


def by_trigger(folder: Path) -> None:
    """Steps 2 and 3 of a running job."""
    from stepscope.profiler import DynamicProfilerMonitor

    monitor = DynamicProfilerMonitor(cfg_path=str(folder), output_path=str(folder / "out"), poll_interval=1)
    train(monitor.step)


def by_trigger_of_ranks(folder: Path) -> None:
    """The same as one rank of two, which share a board."""
    os.environ.update(RANK="0", WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT="1", TMPDIR=str(folder))
    tempfile.tempdir = None  # so that it looks again: a board of its own for each case
    by_trigger(folder)


WAYS = {
    way.__name__: way
    for way in (
        in_code,
        whole_run,
        in_a_thread,
        by_launcher,
        by_launcher_with_schedule,
        by_trigger,
        by_trigger_of_ranks,
    )
}


def attempt(way: Callable[[Path], None], folder: Path, mode: str = "once", number: int = 0) -> dict[str, Any]:
    """One training in a process of its own: exit code, output, errors, and which calls failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "profiler_config.json").write_text(json.dumps(TRIGGER))
    with file_system_for(mode, folder / "out") if mode in KINDS else nullcontext():
        child = os.fork()
        if child == 0:
            _become_the_job(folder)
            calls = FailingCalls(0 if mode in KINDS else number, mode == "from")
            _tell_at_exit(calls, folder)
            if not way.__name__.startswith("by_launcher"):
                _import_names()  # where the script itself imports us, it is the script that fails
            calls.install()
            if mode in KINDS:
                Strikes.after_step = Shortage(mode, folder / "out", number).after_step
                Strikes.after_step(0)
            way(folder)
            sys.exit(0)
        _, status = os.waitpid(child, 0)
    told = folder / "calls.json"
    return {
        "code": os.waitstatus_to_exitcode(status),
        "output": (folder / "stdout").read_text(),
        "errors": (folder / "stderr").read_text(),
        **json.loads(told.read_text() or '{"made": 0, "failed": null}'),
    }


def _become_the_job(folder: Path) -> None:
    for name, file in (("stdout", 1), ("stderr", 2)):
        opened = os.open(folder / name, os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, file)
        os.close(opened)
    sys.executable = "/bin/true"  # stands for a parser that is done at once
    os.chdir(folder)


def _import_names() -> None:
    import stepscope.profiler

    for name in stepscope.profiler.__all__:
        getattr(stepscope.profiler, name)


def _tell_at_exit(calls: FailingCalls, folder: Path) -> None:
    """Registered first, so it is called last."""
    import atexit

    file = os.open(folder / "calls.json", os.O_WRONLY | os.O_CREAT)  # now: later there may be no handle
    atexit.register(lambda: os.write(file, json.dumps({"made": calls.made, "failed": calls.failed}).encode()))


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """A job that hangs ends the sweep."""
    signal.alarm(seconds)
    yield
    signal.alarm(0)


def main() -> None:
    """All sweeps, one after another."""
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    torch.nn.Linear(8, 2)(torch.ones(2, 8))  # looks at the processor, which takes a handle
    gc.freeze()  # what is imported need not be looked through in each of them
    expected = attempt(without, folder)
    for words in sys.argv[2:]:
        way, mode, every = words.split(",")
        print(json.dumps(sweep(WAYS[way], mode, int(every), folder, expected)), flush=True)


def sweep(way: Callable[[Path], None], mode: str, every: int, folder: Path, expected: dict[str, Any]) -> dict[str, Any]:
    """Over all numbers, or every so many of them."""
    made = attempt(way, folder)["made"]
    wrong, tried = [], 0
    for number in range(0, KINDS[mode][0], every) if mode in KINDS else itertools.count(1, every):
        with _limited(120):
            seen = attempt(way, folder, mode, number)
        if mode not in KINDS and seen["failed"] == []:
            break
        tried += 1
        if (seen["code"], seen["output"]) != (expected["code"], expected["output"]) or seen["failed"] is None:
            wrong.append({"number": number, **seen})
    return {"calls": made, "tried": tried, "wrong": wrong}


if __name__ == "__main__":
    main()
