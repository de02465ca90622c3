"""Classes that are also callbacks of a framework, where the job has imported it; nothing is imported for it."""

from __future__ import annotations

import sys
from typing import Any

_made: dict[tuple[type, type], type] = {}


def with_base(own: type, base: type) -> type:
    """A class that is both; ``own`` itself where it is already."""
    if issubclass(own, base):
        return own
    if (own, base) not in _made:
        _made[own, base] = type(own.__name__, (own, base), {"__module__": own.__module__, "__doc__": own.__doc__})
    return _made[own, base]


def with_mindspore_base(own: type) -> type:
    """A class that ``Model.train`` takes as a callback, where MindSpore is in use."""
    mindspore: Any = sys.modules.get("mindspore")
    base = getattr(mindspore, "Callback", None)
    return with_base(own, base) if isinstance(base, type) else own
