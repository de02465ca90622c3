"""Does something as soon as one of some modules has been imported, or now if one has been already."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from stepscope.profiler.foundation.guard import attempt


def after_import(modules: tuple[str, ...], action: Callable[[], None]) -> None:
    """Call ``action`` once."""
    if any(name in sys.modules for name in modules):
        action()
    else:
        sys.meta_path.insert(0, _Watcher(modules, action))


class _Watcher:
    """Stands first in the line of finders, lets the others find, and sees when a module is complete."""

    def __init__(self, modules: tuple[str, ...], action: Callable[[], None]) -> None:
        self._modules = modules
        self._action = action
        self._asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Nothing of our own; the module's own specification, with our call behind its execution."""
        del path, target
        if name not in self._modules or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking = False
        loader = getattr(spec, "loader", None)
        if loader is not None and hasattr(loader, "exec_module"):
            self._call_behind(loader)
        return spec

    def _call_behind(self, loader: Any) -> None:
        original = loader.exec_module

        def exec_module(module: Any) -> None:
            original(module)
            attempt("import", self._imported, loader)

        loader.exec_module = exec_module

    def _imported(self, loader: Any) -> None:
        vars(loader).pop("exec_module", None)
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._action()
