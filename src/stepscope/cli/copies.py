"""``stepscope copies``: copies and their bandwidth."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def copies() -> dict[str, Any]:
    """Show copies by kind: bytes, time, and bytes over time."""
    return {}
