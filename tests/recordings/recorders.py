"""What the scripts of this folder share: a loop recorded by torch.profiler or by ours, its own clock beside it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neutral_files import keep_folder, keep_trace, working_folder
from step_clock import StepClock


@dataclass(frozen=True)
class Window:
    """How many steps are waited for, warmed up with and recorded."""

    wait: int
    warm_up: int
    active: int

    @property
    def steps(self) -> int:
        return self.wait + self.warm_up + self.active

    @property
    def recorded(self) -> list[int]:
        return list(range(self.wait + self.warm_up, self.steps))

    @property
    def schedule(self) -> dict[str, int]:
        return {"wait": self.wait, "warmup": self.warm_up, "active": self.active, "repeat": 1}


#: Runs the loop under a profiler, whose ``step`` it calls, and hands back the clock that it kept.
Loop = Callable[[Any], StepClock]


def record_with_torch(window: Window, loop: Loop, out: Path, name: str, **options: Any) -> None:
    from torch.profiler import profile, schedule

    with working_folder() as folder:
        trace = folder / "trace.json"
        with profile(
            schedule=schedule(**window.schedule),
            on_trace_ready=lambda prof: prof.export_chrome_trace(str(trace)),
            **options,
        ) as prof:
            clock = loop(prof)
        keep_trace(trace, out / f"{name}.json.gz")
    clock.write(out / f"{name}.clock.json")


def record_with_stepscope(window: Window, loop: Loop, out: Path, name: str, **options: Any) -> None:
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler

    with working_folder() as folder:
        with profile(
            schedule=schedule(**window.schedule),
            on_trace_ready=tensorboard_trace_handler(str(folder), worker_name="trainer", analyse_flag=False),
            **options,
        ) as prof:
            clock = loop(prof)
        keep_folder(folder, out / f"{name}.tar.gz")
    clock.write(out / f"{name}.clock.json")


def time_between_events(window: Window, step: Callable[[], None], prof: Any, **facts: Any) -> StepClock:
    """The loop on a CUDA device, whose own events time each step."""
    import torch

    clock = StepClock(torch=torch.__version__, device=torch.cuda.get_device_name(), **facts, recorded=window.recorded)
    for number in range(window.steps):
        clock.begin(number)
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        step()
        after.record()
        after.synchronize()
        clock.end(between_events_ns=round(before.elapsed_time(after) * 1e6))
        prof.step()
    return clock


def out_folder(description: str | None) -> Path:
    """The folder of ``--out``, which is made where it is missing."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    return out
