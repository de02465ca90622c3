"""Runs first in every Python process below ``stepscope profile -- CMD``, which puts this folder on PYTHONPATH.

Kept small, and silent about its own faults: it runs before anything else of the job.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (pathlib would be imported into every process)


def _chain() -> None:
    """The machine's own sitecustomize, which this one hides."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    others = [place for place in sys.path if os.path.abspath(place) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


def _begin() -> None:
    if os.environ.get("STEPSCOPE_PROFILE"):
        from stepscope.profiler.environment import launched

        launched()


try:
    _begin()
except Exception as error:
    sys.stderr.write(f"[stepscope] {type(error).__name__}: {error}\n")
_chain()
