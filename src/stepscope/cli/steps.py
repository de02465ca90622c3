"""``stepscope steps``: where each step goes."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def steps() -> dict[str, Any]:
    """Show where each step goes: computing, exposed communication, copies, free time, and the phases of the step."""
    return {}
