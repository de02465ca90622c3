"""``stepscope summary``: a run at a glance."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def summary() -> dict[str, Any]:
    """Show a run at a glance: medians per rank, and whether computing, communication or idle time is the problem."""
    return {}
