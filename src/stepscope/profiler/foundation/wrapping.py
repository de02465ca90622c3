"""Functions that stand in for others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def named_like(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As ``functools.wraps``, which would swallow an AttributeError of the job's alarm."""

    def named(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(original, name):  # what is written in C lacks some
                setattr(wrapper, name, getattr(original, name))
        wrapper.__wrapped__ = original  # type: ignore[attr-defined]
        return wrapper

    return named
