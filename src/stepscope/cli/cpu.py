"""``stepscope cpu``: CPU use over time."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def cpu() -> dict[str, Any]:
    """Show CPU use of machine, process, workers and pipeline operators, aligned with steps."""
    return {}
