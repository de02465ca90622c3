"""``stepscope leaks``: memory that is never given back."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def leaks() -> dict[str, Any]:
    """Show which allocation sites leak, with confidence and reason."""
    return {}
