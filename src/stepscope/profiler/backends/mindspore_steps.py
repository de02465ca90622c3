"""Training steps of MindSpore where nobody calls step(): the calls of its optimizers and of its training cells."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from stepscope.profiler.foundation.guard import attempt
from stepscope.profiler.foundation.own_faults import ours

#: What a training script calls once a step. A training cell calls its optimizer; the outer of the two counts. In graph
#: mode the optimizer is part of the compiled graph, and only the cell around it is called.
_CALLED = (
    ("mindspore.nn.optim.optimizer", "Optimizer"),
    ("mindspore.experimental.optim.optimizer", "Optimizer"),
    ("mindspore.nn.wrap.cell_wrapper", "TrainOneStepCell"),
)


def watch_steps(on_step: Callable[[int], None]) -> Callable[[], None]:
    """Call ``on_step(number)`` after each call of an optimizer or training cell, numbered as they are first seen."""
    seen: dict[int, int] = {}
    inside = _Inside()
    undo = [
        _wrap(
            getattr(sys.modules[module], name), inside, lambda called: on_step(seen.setdefault(id(called), len(seen)))
        )
        for module, name in _CALLED
        if _present(module)
    ]

    def end() -> None:
        while undo:
            undo.pop()()

    return end


class _Inside:
    """How deep in calls the script is; MindSpore calls its cells from one thread."""

    depth = 0


def _wrap(watched: Any, inside: _Inside, done: Callable[[Any], None]) -> Callable[[], None]:
    had_its_own = "__call__" in vars(watched)
    original = watched.__call__

    def __call__(cell: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        inside.depth += 1
        try:
            answer = original(cell, *args, **kwargs)
        finally:
            inside.depth -= 1
        if inside.depth == 0:
            attempt("optimizer", done, cell)
        return answer

    watched.__call__ = __call__

    def end() -> None:
        if vars(watched).get("__call__") is not __call__:
            return  # somebody wrapped ours; it goes on, and calls nobody once the window is over
        if had_its_own:
            watched.__call__ = original
        else:
            del watched.__call__

    return end


def _present(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ours(ImportError):  # another version keeps it elsewhere
        return False
    return True
