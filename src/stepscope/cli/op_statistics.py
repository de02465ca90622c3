"""``stepscope op-statistics``: kernels by type and core."""

from __future__ import annotations

from typing import Any

from stepscope.cli.ask import question


@question
def op_statistics() -> dict[str, Any]:
    """Show kernels by type and core, with the columns of op_statistic.csv."""
    return {}
