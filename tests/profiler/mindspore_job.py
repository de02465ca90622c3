"""Runs under an interpreter with MindSpore, once for all tests: records the samples and some planted faults.

mindspore_job.py FOLDER EXAMPLES writes FOLDER/result.json with the windows of each case.
"""

from __future__ import annotations

import gc
import importlib
import json
import runpy
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import mindspore
import mindspore.dataset as ds
import numpy as np

from stepscope.profiler import (
    DynamicProfilerMonitor,
    ExperimentalConfig,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)
from stepscope.profiler.foundation.messages import StepscopeWarning
from stepscope.profiler.handover import parsing

SLOW_S = 0.05


class Result:
    """What is written for the tests."""

    def __init__(self, folder: Path, examples: Path) -> None:
        self.folder, self.examples = folder, examples
        self.windows: dict[str, list[str]] = {}
        self.said: dict[str, list[str]] = {}
        self.clock: list[list[int]] = []
        self.waits_s: list[float] = []
        self.handed: list[str] = []
        parsing.parse = self.hand_over  # type: ignore[assignment]

    def hand_over(self, directory: Path, **how: Any) -> bool:
        """Instead of parsing: the tests do that in one go, elsewhere."""
        del how
        self.handed.append(str(directory))
        return True

    def case(self, name: str, run: Any) -> None:
        self.handed.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", StepscopeWarning)
            run(self.folder / name)
        self.windows[name] = list(self.handed)
        self.said[name] = [str(one.message) for one in caught if issubclass(one.category, StepscopeWarning)]

    def sample(self, name: str, mode: str) -> None:
        def run(folder: Path) -> None:
            sys.argv = [name, mode, str(folder)]
            runpy.run_path(str(self.examples / f"{name}.py"), run_name="__main__")

        self.case(f"{name}_{mode}", run)

    def write(self) -> None:
        content = {"windows": self.windows, "said": self.said, "clock": self.clock, "waits_s": self.waits_s}
        (self.folder / "result.json").write_text(json.dumps(content))


def train(callback: Any) -> None:
    """The training of the samples, eight steps."""
    sample: Any = importlib.import_module("training")
    sample.model(sample.Net()).train(1, sample.batches(8), callbacks=[callback], dataset_sink_mode=False)


def ready_made(folder: Path) -> None:
    from stepscope.profiler.callbacks import MindSporeProfiling

    train(MindSporeProfiling(start_step=3, stop_step=5, output_path=str(folder)))


def monitor_as_callback(folder: Path) -> None:
    folder.mkdir()
    (folder / "profiler_config.json").write_text(json.dumps({"start_step": 2, "stop_step": 4, "analyse": True}))
    monitor = DynamicProfilerMonitor(str(folder), str(folder / "out"))
    assert isinstance(monitor, mindspore.Callback)
    train(monitor)


def slow_stage(result: Result) -> Any:
    """A pipeline whose map is slow, and a loop that waits for it: built before the window, after the profile.

    However busy the machine is, the map begins when the loop waits, and takes much longer than the loop itself.
    """

    def run(folder: Path) -> None:
        asked, over = threading.Event(), threading.Event()
        loop_s = 0.0

        def rows() -> Any:
            for number in range(60):
                yield (np.full([4], number, np.float32),)

        def slow(value: Any) -> Any:
            asked.wait()
            if not over.is_set():
                asked.clear()
                time.sleep(max(SLOW_S, 4 * loop_s))
            return value

        with profile(
            schedule=schedule(wait=2, active=12, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(folder)),
            data_process=True,
        ) as prof:
            data = ds.GeneratorDataset(rows, ["x"], shuffle=False)
            data = data.map(slow, ["x"], num_parallel_workers=1, python_multiprocessing=False).batch(1)
            batches = data.create_tuple_iterator(num_epochs=1)
            while prof.step_num < 16:
                waits_from = time.monotonic()
                asked.set()
                (value,) = next(batches)
                got = time.monotonic()
                result.waits_s.append(got - waits_from)
                mindspore.ops.relu(value)
                prof.step()
                loop_s = time.monotonic() - got
            over.set()
            asked.set()

    return run


def several_pipelines(folder: Path) -> None:
    """Windows over pipelines that live, are gone, and are built inside: no crash, and no mixing them up."""

    def build(size: int) -> Any:
        rows = np.ones([4000, 4], np.float32)
        data = ds.NumpySlicesDataset(rows, ["x"], shuffle=False).batch(size)
        return data.create_tuple_iterator(num_epochs=1)

    def take(pipeline: Any, count: int) -> None:
        for _ in range(count):
            next(pipeline)

    prof = profile(start_profile=False, on_trace_ready=tensorboard_trace_handler(str(folder)))

    def window(*taken: tuple[Any, int]) -> None:
        prof.start()
        for pipeline, count in taken:
            take(pipeline, count)
        prof.stop()

    first = build(4)
    take(first, 10)
    window((first, 5))  # 11 to 15
    second = build(8)
    window((second, 7), (first, 3))  # the first one is watched: 16 to 18
    del first
    gc.collect()
    third = build(2)
    take(third, 20)
    window((second, 2), (third, 4))  # the first is gone, the third is watched: 21 to 24
    del second, third
    gc.collect()
    prof.start()
    take(build(1), 6)  # built inside: 1 to 6
    prof.stop()


def loop_with_clock(result: Result) -> Any:
    """A loop that keeps its own time, with marks, memory and shapes; and a second profile in the same process."""

    def run(folder: Path) -> None:
        value = mindspore.Tensor(np.ones([400, 400], np.float32))
        with profile(
            schedule=schedule(wait=1, warmup=1, active=3, repeat=2),
            on_trace_ready=tensorboard_trace_handler(str(folder)),
            profile_memory=True,
            record_shapes=True,
            with_stack=True,
            experimental_config=ExperimentalConfig(mstx=True),
        ) as prof:
            began = time.time_ns()
            for step in range(10):
                span = mstx.range_start("multiply")
                for _ in range(20):
                    product = mindspore.ops.matmul(value, value)
                product.asnumpy()
                mstx.range_end(span)
                time.sleep(0.05)
                result.clock.append([step, began, time.time_ns()])
                prof.step()
                began = time.time_ns()

    return run


def accepted_by_their_profiler(folder: Path) -> None:
    """The Ascend backend hands our settings to MindSpore's own profile: every name must be one of its parameters."""
    import inspect

    from stepscope.profiler.backends.mindspore_ascend import arguments
    from stepscope.profiler.settings.profile_settings import Settings

    given = arguments(Settings(), mindspore.profiler, folder)
    bound = inspect.signature(mindspore.profiler.profile.__init__).bind(None, **given)
    assert set(given) == set(bound.arguments) - {"self"}
    assert all(callable(getattr(mindspore.profiler.profile, name)) for name in ("start", "stop"))


def main() -> None:
    folder, examples = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, str(examples))
    mindspore.set_device("CPU")
    result = Result(folder, examples)
    for mode in ("pynative", "graph"):
        for name in ("for_loop", "callback", "callback_old", "dynamic"):
            result.sample(name, mode)
    result.case("ready_made", ready_made)
    result.case("monitor", monitor_as_callback)
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    result.case("clock", loop_with_clock(result))
    result.case("slow_stage", slow_stage(result))
    result.case("pipelines", several_pipelines)
    result.case("ascend", accepted_by_their_profiler)
    result.write()


if __name__ == "__main__":
    main()
