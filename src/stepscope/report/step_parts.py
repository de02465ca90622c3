"""The parts of a mean step in the order in which every chart stacks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.analysis.summary import RankSummary
from stepscope.compare.comparison import part_label
from stepscope.diagnosis.finding import Bilingual
from stepscope.report.tables import cell, unit_of_time

_PARTS: Final = ("computing", "exposed_communication", "exposed_copy")
_CAUSES: Final = ("data", "host", "sync", "gc", "collective", "dependency", "profiler", "unknown")


@dataclass(frozen=True)
class StepPart:
    """A part that takes time."""

    part: str
    us: float
    period_us: float

    @property
    def label(self) -> Bilingual:
        return part_label(self.part)

    @property
    def unit(self) -> str:
        """In which the whole step is told, so that parts can be held beside each other."""
        return unit_of_time(self.period_us)

    @property
    def percent(self) -> str:
        return cell(self.us / self.period_us, "%")


def step_parts(entry: RankSummary) -> list[StepPart]:
    """Parts of a rank's mean step; idle time by cause where causes are known."""
    times: dict[str, float | None] = {part: getattr(entry, f"{part}_us") for part in _PARTS}
    if entry.idle_by_cause is None:
        times["idle"] = entry.idle_us
    else:
        times |= {f"idle_{cause}": getattr(entry.idle_by_cause, f"{cause}_us") for cause in _CAUSES}
    times["overlap"] = entry.overlap_us
    return [StepPart(part, us, entry.period_us) for part, us in times.items() if us is not None and us > 0]
