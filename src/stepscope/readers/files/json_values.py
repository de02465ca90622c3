"""Values of JSON that somebody wrote: what is not of the kind that is expected counts as nothing."""

from __future__ import annotations

from typing import Any


def as_list(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str | None:
    """A value as text, whatever it is; None stays None."""
    return None if value is None else str(value)
