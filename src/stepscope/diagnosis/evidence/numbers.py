"""A number that a finding rests on."""

from __future__ import annotations

from stepscope.diagnosis.finding import Bilingual, FindingEvidence, Page


def number(
    metric: str, value: float, unit: str, baseline: float | None = None, link: Page | None = None
) -> FindingEvidence:
    """A number with the catalogue's name for it."""
    label = Bilingual.of(f"finding_metric.{metric}")
    # As it is read back from where findings are kept: a float, also where it counts bytes.
    base = None if baseline is None else float(baseline)
    return FindingEvidence(metric=metric, label=label, value=float(value), unit=unit, baseline=base, link=link)
