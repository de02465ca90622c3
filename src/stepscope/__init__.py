"""Stepscope: how an AI training job spends its time, and what to fix first.

Nothing heavy is imported here, so that ``import stepscope.profiler`` stays cheap on a training machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepscope.version import __version__

if TYPE_CHECKING:
    from stepscope.run import Run, load

__all__ = ["Run", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name in ("Run", "load"):
        from stepscope import run

        return getattr(run, name)
    raise AttributeError(f"module 'stepscope' has no attribute {name!r}")
