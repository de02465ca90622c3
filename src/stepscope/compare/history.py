"""Several runs in their order: how long a step took in each, and where that changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepscope.arrays import Float64s
from stepscope.compare.comparison import HistoryEntry, Word
from stepscope.compare.noise import difference, fewest_samples
from stepscope.compare.overall_changes import part_means, samples_of
from stepscope.compare.side import Side
from stepscope.facts.comparison import comparison_facts


def history(sides: Sequence[Side]) -> list[HistoryEntry]:
    """One entry per run. A change begins a new stretch; each run is compared with the whole stretch before it."""
    entries: list[HistoryEntry] = []
    stretch: list[Float64s] = []
    first_ns = part_means(sides[0])["period"]
    for side in sides:
        samples = samples_of(side, "period")
        word = _against(np.concatenate(stretch), samples) if stretch else None
        changed = word in ("faster", "slower")
        stretch = [samples] if changed else [*stretch, samples]
        mean_ns = part_means(side)["period"]
        entries.append(
            HistoryEntry(
                name=side.name,
                path=side.store.manifest.capture,
                window=side.store.manifest.window,
                steps=side.samples,
                period_us=mean_ns / 1000,
                period_p95_us=round(float(np.quantile(samples, 0.95)) / 1000, 3),
                delta_us=(mean_ns - first_ns) / 1000,
                delta_share=(mean_ns - first_ns) / first_ns if first_ns else 0.0,
                word=word,
                changed=changed,
            )
        )
    return entries


def _against(before: Float64s, after: Float64s) -> Word:
    facts = comparison_facts()
    if min(len(before), len(after)) < fewest_samples(facts.chance):
        return "not_comparable"
    told = difference(before[None, :], after[None, :], facts.chance)
    delta = float(told.delta[0])
    if told.probability[0] > facts.chance or abs(delta) <= facts.floor_share * float(before.mean()):
        return "same"
    return "slower" if delta > 0 else "faster"
