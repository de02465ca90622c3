"""The older class ``Profiler`` in a callback: it records between two steps and parses at the end of the training.

python examples/pytorch/callback_old.py ./data
"""

from __future__ import annotations

from training import Training, folder

from stepscope.profiler import Profiler


class StopAtStep:
    """Records from one step to another, both included; steps are found from the optimizer's."""

    def __init__(self, start_step: int, stop_step: int) -> None:
        self.start_step = start_step
        self.stop_step = stop_step
        self.profiler = Profiler(start_profile=False, output_path=folder())

    def on_train_step_begin(self, step_num: int) -> None:
        """Start before the first step of the range."""
        if step_num == self.start_step:
            self.profiler.start()

    def on_train_step_end(self, step_num: int) -> None:
        """Stop after the last."""
        if step_num == self.stop_step:
            self.profiler.stop()

    def on_train_end(self) -> None:
        """Parse."""
        self.profiler.analyse()


if __name__ == "__main__":
    Training().run(8, StopAtStep(3, 5))
