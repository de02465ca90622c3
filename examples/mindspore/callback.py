"""A callback of ``Model.train``: steps 3 to 5 are recorded.

python examples/mindspore/callback.py graph ./data

``stepscope.profiler.callbacks.MindSporeProfiling(start_step=3, stop_step=5)`` does the same ready-made.
"""

from __future__ import annotations

from typing import Any

import mindspore
from training import Net, batches, model, set_up

from stepscope import profiler


class StopAtStep(mindspore.Callback):
    """Records from one step to another, both included."""

    def __init__(self, start_step: int, stop_step: int, folder: str) -> None:
        super().__init__()
        self.start_step = start_step
        self.stop_step = stop_step
        self.profiler = profiler.profile(
            start_profile=False,
            experimental_config=profiler._ExperimentalConfig(),
            schedule=profiler.schedule(wait=0, warmup=0, active=stop_step - start_step + 1, repeat=1, skip_first=0),
            on_trace_ready=profiler.tensorboard_trace_handler(folder),
        )

    def on_train_step_begin(self, run_context: Any) -> None:
        """Start before the first step of the range."""
        if run_context.original_args().cur_step_num == self.start_step:
            self.profiler.start()

    def on_train_step_end(self, run_context: Any) -> None:
        """Step after each of them, and stop after the last."""
        step_num = run_context.original_args().cur_step_num
        if self.start_step <= step_num <= self.stop_step:
            self.profiler.step()
        if step_num == self.stop_step:
            self.profiler.stop()


if __name__ == "__main__":
    folder = set_up()
    model(Net()).train(1, batches(8), callbacks=[StopAtStep(3, 5, folder)], dataset_sink_mode=False)
