"""Ready-made callbacks: profiling for trainers that own the loop. Nothing absent is imported: a class is made from its
framework's own base class when it is asked for.

    from stepscope.profiler.callbacks import MindSporeProfiling        # Model.train(callbacks=[...])
    from stepscope.profiler.callbacks import TransformersProfiling     # transformers.Trainer(callbacks=[...])
    from stepscope.profiler.callbacks import LightningProfiling        # lightning.Trainer(callbacks=[...])

    callback = MindSporeProfiling(start_step=3, stop_step=5, output_path="captures")     # the training's own numbers
    callback = TransformersProfiling(profile(schedule=..., start_profile=False, ...))    # or any profile
    callback = LightningProfiling(DynamicProfilerMonitor(cfg_path="config"))             # or a monitor
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stepscope.profiler.foundation.framework_base import with_base
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.starting.training_driver import TrainingDriver

if TYPE_CHECKING:
    LightningProfiling: Any
    MindSporeProfiling: Any
    TransformersProfiling: Any

__all__ = ["LightningProfiling", "MindSporeProfiling", "TransformersProfiling"]


class _MindSpore:
    """For ``Model.train``; in sink mode MindSpore calls it once per sink."""

    def __init__(self, profiler: Any = None, **parameters: Any) -> None:
        self.driver = TrainingDriver(profiler, **parameters)

    def on_train_begin(self, run_context: Any) -> None:
        """The training begins."""
        del run_context
        self.driver.begin()

    def on_train_step_begin(self, run_context: Any) -> None:
        """A step begins."""
        self.driver.begin_step(lambda: run_context.original_args().cur_step_num)

    def on_train_step_end(self, run_context: Any) -> None:
        """A step ended."""
        self.driver.end_step(lambda: run_context.original_args().cur_step_num)

    def on_train_end(self, run_context: Any) -> None:
        """The training is over."""
        del run_context
        self.driver.end()


class _Transformers:
    """For Hugging Face's ``Trainer``; a step is an optimizer step."""

    def __init__(self, profiler: Any = None, **parameters: Any) -> None:
        self.driver = TrainingDriver(profiler, **parameters)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The training begins."""
        del args, state, control, kwargs
        self.driver.begin()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step begins; the trainer has counted those before."""
        del args, control, kwargs
        self.driver.begin_step(lambda: state.global_step + 1)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step ended."""
        del args, control, kwargs
        self.driver.end_step(lambda: state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The training is over."""
        del args, state, control, kwargs
        self.driver.end()


class _Lightning:
    """For Lightning's ``Trainer``; a step is a batch."""

    def __init__(self, profiler: Any = None, **parameters: Any) -> None:
        super().__init__()
        self.driver = TrainingDriver(profiler, **parameters)
        self._batches = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """The training begins."""
        del trainer, pl_module
        self.driver.begin()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """A batch begins."""
        del trainer, pl_module, batch, batch_idx
        self._batches += 1
        self.driver.begin_step(lambda: self._batches)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A batch ended."""
        del trainer, pl_module, outputs, batch, batch_idx
        self.driver.end_step(lambda: self._batches)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The training is over."""
        del trainer, pl_module
        self.driver.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """It failed; what was recorded is kept."""
        del trainer, pl_module, exception
        self.driver.end(keep=True)


#: Each with the places of its framework's base class, the first that is installed counts.
_KINDS = {
    "MindSporeProfiling": (_MindSpore, ("mindspore:Callback",)),
    "TransformersProfiling": (_Transformers, ("transformers:TrainerCallback",)),
    "LightningProfiling": (_Lightning, ("lightning.pytorch:Callback", "pytorch_lightning:Callback")),
}


def __getattr__(name: str) -> Any:
    if name not in _KINDS:
        raise AttributeError(f"module 'stepscope.profiler.callbacks' has no attribute {name!r}")
    own, places = _KINDS[name]
    failure: ImportError | None = None
    for import_path in places:
        module, _, attribute = import_path.partition(":")
        try:
            base = getattr(importlib.import_module(module), attribute)
        except ours(ImportError) as error:
            failure = failure or error
            continue
        made = with_base(own, base)
        made.__name__ = made.__qualname__ = name
        return made
    assert failure is not None
    raise failure
