"""All faults and look-alikes by name; a new file named by its kind is a new fault."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from stepscope.errors import UsageError
from stepscope.simulate import faults
from stepscope.simulate.faults.planted import Planted
from stepscope.simulate.look_alikes import LOOK_ALIKES
from stepscope.simulate.scenario import FaultEntry

_OTHER_FILES = ("planted", "registry")


@cache
def kinds() -> dict[str, type[Planted]]:
    """Faults by kind."""
    class_of_kind: dict[str, type[Planted]] = {}
    for module in pkgutil.iter_modules(faults.__path__):
        if module.name in _OTHER_FILES:
            continue
        content = vars(importlib.import_module(f"{faults.__name__}.{module.name}"))
        class_of_kind |= {
            each.kind: each
            for each in content.values()
            if isinstance(each, type) and issubclass(each, Planted) and each.__module__.endswith(f".{module.name}")
        }
    return class_of_kind


def fault_of(entry: FaultEntry) -> type[Planted]:
    """The class of a fault; a cause that it does not know is an error."""
    planted = kinds().get(entry.kind)
    if planted is None:
        raise UsageError("no_such_fault", kind=entry.kind, kinds=", ".join(sorted(kinds())))
    if entry.cause and entry.cause not in planted.causes:
        raise UsageError("no_such_cause", kind=entry.kind, cause=entry.cause, causes=", ".join(planted.causes) or "–")
    return planted


def look_alike_of(entry: FaultEntry) -> type[Planted]:
    """The class of a look-alike."""
    look_alike = LOOK_ALIKES.get(entry.kind)
    if look_alike is None:
        raise UsageError("no_such_fault", kind=entry.kind, kinds=", ".join(sorted(LOOK_ALIKES)))
    return look_alike
