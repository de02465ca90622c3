"""Runs first in every Python process below ``stepscope profile -- CMD``, which puts this folder on PYTHONPATH.

The zip that ``stepscope profiler-zip`` writes has it at its top: the zip on PYTHONPATH and a variable are enough.
Kept small, and silent about its own faults: it runs before anything else of the job.
"""

import os
import sys
from importlib.machinery import PathFinder

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (pathlib would be imported into every process)
_IN_PACKAGE = os.path.join("stepscope", "profiler", "starting", "bootstrap")  # noqa: PTH118
_SOURCES = _HERE[: -len(_IN_PACKAGE) - 1] if _HERE.endswith(_IN_PACKAGE) else _HERE


class _Ours:
    """Finds our own package, and nothing that is installed beside it: the job keeps its own versions of all others."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]
        return PathFinder.find_spec(name, [_SOURCES], target) if name == "stepscope" else None


def _chain() -> None:
    """The machine's own sitecustomize, which this one hides."""
    from importlib.util import module_from_spec

    others = [path for path in sys.path if os.path.abspath(path) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


def _begin() -> None:
    sys.meta_path.insert(0, _Ours)
    if os.environ.get("MS_PROFILER_OPTIONS"):
        import stepscope.profiler  # noqa: F401 (takes the options over, before MindSpore sees them)
    if os.environ.get("STEPSCOPE_PROFILE"):
        from stepscope.profiler.starting.environment import launched

        launched()


try:
    _begin()
except Exception as error:
    sys.stderr.write(f"[stepscope] {type(error).__name__}: {error}\n")
_chain()
