"""The older class ``Profiler`` in a callback: it records between two steps and parses at the end of the training.

python examples/mindspore/callback_old.py graph ./data
"""

from __future__ import annotations

from typing import Any

import mindspore
from training import Net, batches, model, set_up

from stepscope.profiler import Profiler


class StopAtStep(mindspore.Callback):
    """Records from one step to another, both included; steps are found from what the training calls."""

    def __init__(self, start_step: int, stop_step: int, folder: str) -> None:
        super().__init__()
        self.start_step = start_step
        self.stop_step = stop_step
        self.profiler = Profiler(start_profile=False, output_path=folder)

    def on_train_step_begin(self, run_context: Any) -> None:
        """Start before the first step of the range."""
        if run_context.original_args().cur_step_num == self.start_step:
            self.profiler.start()

    def on_train_step_end(self, run_context: Any) -> None:
        """Stop after the last."""
        if run_context.original_args().cur_step_num == self.stop_step:
            self.profiler.stop()

    def on_train_end(self, run_context: Any) -> None:
        """Parse."""
        del run_context
        self.profiler.analyse()


if __name__ == "__main__":
    folder = set_up()
    model(Net()).train(1, batches(8), callbacks=[StopAtStep(3, 5, folder)], dataset_sink_mode=False)
