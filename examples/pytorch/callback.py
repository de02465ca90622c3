"""A trainer's callback: steps 3 to 5 are recorded.

python examples/pytorch/callback.py ./data

For Hugging Face and Lightning, ``stepscope.profiler.callbacks`` has ready ones.
"""

from __future__ import annotations

from training import Training, folder

from stepscope import profiler


class StopAtStep:
    """Records from one step to another, both included."""

    def __init__(self, start_step: int, stop_step: int) -> None:
        self.start_step = start_step
        self.stop_step = stop_step
        self.profiler = profiler.profile(
            start_profile=False,
            experimental_config=profiler._ExperimentalConfig(),
            schedule=profiler.schedule(wait=0, warmup=0, active=stop_step - start_step + 1, repeat=1, skip_first=0),
            on_trace_ready=profiler.tensorboard_trace_handler(folder()),
        )

    def on_train_step_begin(self, step_num: int) -> None:
        """Start before the first step of the range."""
        if step_num == self.start_step:
            self.profiler.start()

    def on_train_step_end(self, step_num: int) -> None:
        """Step after each of them, and stop after the last."""
        if self.start_step <= step_num <= self.stop_step:
            self.profiler.step()
        if step_num == self.stop_step:
            self.profiler.stop()

    def on_train_end(self) -> None:
        """Nothing is left to do."""


if __name__ == "__main__":
    Training().run(8, StopAtStep(3, 5))
