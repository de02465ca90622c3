"""``stepscope pipeline``: the input pipeline."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def pipeline() -> dict[str, Any]:
    """Show the input pipeline: operators with queue use, starving steps, and which stage to change."""
    return {}
