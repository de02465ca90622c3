"""Rows of measurements and the page they are recorded on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Row:
    what: str
    value: float
    unit: str
    budget: str = ""
    peak_mb: float | None = None
    peak_budget: str = ""

    def markdown(self) -> str:
        peak = "" if self.peak_mb is None else f"{self.peak_mb:,.0f}"
        return f"| {self.what} | {self.value:,.2f} {self.unit} | {self.budget} | {peak} | {self.peak_budget} |"


def write(path: Path, sections: dict[str, list[Row]]) -> None:
    """Record the numbers; ratios within one run are what counts, seconds depend on the machine and its neighbours."""
    lines = [
        "# Measurements",
        "",
        "Made by `make bench`. CPU seconds include child processes; peak memory is that of the largest single process.",
        f"Machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}.",
    ]
    for title, rows in sections.items():
        lines += ["", f"## {title}", "", "| what | measured | budget | peak MB | budget |", "|---|---|---|---|---|"]
        lines += [row.markdown() for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
