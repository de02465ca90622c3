"""The parts of the period on both sides: they add up to the period, and so do their differences."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import Float64s
from stepscope.compare.amounts import apportioned
from stepscope.compare.comparison import PartChange, StepPair
from stepscope.compare.credit import PARTS
from stepscope.compare.noise import difference, fewest_samples
from stepscope.compare.side import IDLE_PARTS, PERIOD_PARTS, Side
from stepscope.facts.comparison import comparison_facts

IDLE = "idle"


def part_means(side: Side) -> dict[str, int]:
    """Mean nanoseconds per step of the period and of each part; the parts add up to the period."""
    sums = np.array([side.parts_ns[part].sum() for part in PERIOD_PARTS], np.int64)
    means = dict(zip(PERIOD_PARTS, apportioned(sums, side.pairs).tolist(), strict=True))
    means["period"] = sum(means.values())
    means[IDLE] = sum(means[part] for part in IDLE_PARTS)
    return means


def overall_changes(first: Side, second: Side, a: dict[str, int], b: dict[str, int]) -> list[PartChange]:
    """The period, its parts, and the causes of idle time that either side has."""
    causes = [part for part in IDLE_PARTS if a[part] or b[part]]
    names = ["period", *PARTS, IDLE, *causes, *(["overlap"] if a["overlap"] or b["overlap"] else [])]
    samples = [np.array([samples_of(side, name) for name in names]) for side in (first, second)]
    facts = comparison_facts()
    enough = min(first.samples, second.samples) >= fewest_samples(facts.chance)
    told = difference(samples[0], samples[1], facts.chance) if enough else None
    changes = []
    for number, name in enumerate(names):
        delta = b[name] - a[name]
        noise = None if told is None else float(told.noise[number])
        least = facts.floor_share * a[name] if name == "period" else facts.least_share_of_step * a["period"]
        likely = told is not None and told.probability[number] <= facts.chance
        changes.append(
            PartChange(
                part=name,
                a_us=a[name] / 1000,
                b_us=b[name] / 1000,
                delta_us=delta / 1000,
                delta_share=delta / a["period"] if a["period"] else 0.0,
                noise_us=None if noise is None else round(noise / 1000, 3),
                significant=bool(likely and abs(delta) > least),
            )
        )
    return changes


def step_pairs(first: Side, second: Side) -> list[StepPair]:
    """The counted steps in their order."""
    periods = [samples_of(side, "period") for side in (first, second)]
    numbers = [
        side.counted.group_by("sample").agg(pl.col("step").first()).sort("sample")["step"].to_list()
        for side in (first, second)
    ]
    pairs = []
    for position in range(max(first.samples, second.samples)):
        a_us, b_us = (round(float(own[position]) / 1000, 3) if position < len(own) else None for own in periods)
        a_step, b_step = (own[position] if position < len(own) else None for own in numbers)
        delta = None if a_us is None or b_us is None else round(b_us - a_us, 3)
        pairs.append(StepPair(position=position, a_step=a_step, b_step=b_step, a_us=a_us, b_us=b_us, delta_us=delta))
    return pairs


def samples_of(side: Side, name: str) -> Float64s:
    """Per step the mean over ranks."""
    columns = IDLE_PARTS if name == IDLE else (name,)
    values = side.parts_ns.select(columns).sum_horizontal().to_numpy()
    sums = np.zeros(side.samples, np.int64)
    np.add.at(sums, side.parts_ns["sample"].to_numpy(), values)
    return np.asarray(sums / np.maximum(side.ranks_per_sample, 1), np.float64)
