"""``stepscope diagnose``: what to fix first."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def diagnose() -> dict[str, Any]:
    """Tell what to fix first: the verdict, all findings with evidence and advice, and what could not be checked."""
    return {}
