"""What was planted in a simulated run, and what the diagnosis made of it, at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.planted import PlantedFault
from stepscope.report.tables import wide_console
from stepscope.texts import text
from stepscope.texts.numbers import ranges

_COLUMNS = ("planted", "planted_ranks", "planted_cost", "found_kind", "found_ranks", "found_gain")


def show(planted: Sequence[PlantedFault], beside: Sequence[Finding], lang: str) -> None:
    """A row for each fault; then whether anybody else was accused."""
    table = Table(box=None, pad_edge=False)
    for name in _COLUMNS:
        right = name in ("planted_cost", "found_gain")
        table.add_column(Text(text(f"report_column.{name}", lang)), justify="right" if right else "left")
    for fault in planted:
        table.add_row(
            _kind(fault.kind, fault.cause),
            ranges(fault.ranks),
            f"{100 * fault.gain_share:.1f}",
            *_found(fault.finding, lang),
        )
    console = wide_console()
    console.print(table)
    named = ", ".join(_kind(finding.kind, finding.cause) for finding in beside)
    key = "report.accused_beside" if beside else "report.accused_nobody"
    console.print(Text(text(key, lang, kinds=named) if beside else text(key, lang)), soft_wrap=True)


def _found(finding: Finding | None, lang: str) -> tuple[str, str, str]:
    if finding is None:
        return text("report.planted_missed", lang), "", ""
    gain = "" if finding.gain_share is None else f"{100 * finding.gain_share:.1f}"
    return _kind(finding.kind, finding.cause), ranges(finding.ranks), gain


def _kind(kind: str, cause: str | None) -> str:
    return f"{kind} ({cause})" if cause else kind
