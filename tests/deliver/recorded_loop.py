"""The loop of the trainings that are recorded for the tests of delivered files, whatever framework they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stepscope.profiler import (
    ExperimentalConfig,
    ExportType,
    ProfilerLevel,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)


def recorded_loop(
    folder: str, batches: Callable[[], Iterable[Any]], train_on: Callable[[Any], None], *, wait: int, **switches: bool
) -> None:
    """Train on batch after batch; three steps are recorded, with memory, shapes, data and marks, as text and db.

    Batches are made once the profile is on: MindSpore follows the pipelines that are made after that.
    """
    config = ExperimentalConfig(
        mstx=True, profiler_level=ProfilerLevel.Level1, export_type=[ExportType.Text, ExportType.Db]
    )
    with profile(
        schedule=schedule(wait=wait, warmup=1, active=3, repeat=1),
        on_trace_ready=tensorboard_trace_handler(folder, analyse_flag=False),
        record_shapes=True,
        profile_memory=True,
        data_process=True,
        experimental_config=config,
        **switches,
    ) as profiler:
        for batch in batches():
            span = mstx.range_start("train")
            train_on(batch)
            mstx.range_end(span)
            profiler.step()
            if profiler.step_num == wait + 5:
                break
