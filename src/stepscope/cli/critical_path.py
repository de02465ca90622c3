"""``stepscope critical-path``: what bounds a step."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def critical_path() -> dict[str, Any]:
    """Show the critical path of a step and what bounds it."""
    return {}
