"""``stepscope api-statistics``: calls of runtime and driver."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def api_statistics() -> dict[str, Any]:
    """Show calls of runtime and driver, with the columns of api_statistic.csv."""
    return {}
