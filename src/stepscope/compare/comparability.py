"""Whether two sides can be compared at all, and what to keep in mind if they can."""

from __future__ import annotations

import polars as pl

from stepscope.compare.comparison import OperatorChange, Reason
from stepscope.compare.credit import COMPUTING
from stepscope.compare.noise import fewest_samples
from stepscope.compare.side import Side
from stepscope.diagnosis.finding import Bilingual
from stepscope.facts.comparison import comparison_facts


def steps_needed(first: Side, second: Side) -> int | None:
    """How many steps a side needs, where one has fewer."""
    needed = fewest_samples(comparison_facts().chance)
    return needed if min(first.samples, second.samples) < needed else None


def obstacles(first: Side, second: Side, operators: list[OperatorChange]) -> list[Reason]:
    """Reasons why no difference can be claimed."""
    reasons = []
    if (needed := steps_needed(first, second)) is not None:
        counts = {"a": first.samples, "b": second.samples}
        reasons.append(_reason("too_few_steps", **counts, needed=needed))
    ranks = [len(side.chosen_ranks) for side in (first, second)]
    if ranks[0] != ranks[1]:
        reasons.append(_reason("other_ranks", a=ranks[0], b=ranks[1]))
    devices = [device(side) for side in (first, second)]
    if None not in devices and devices[0] != devices[1]:
        reasons.append(_reason("other_device", a=devices[0], b=devices[1]))
    share = _other_shapes_share(operators)
    if share >= comparison_facts().other_shapes_share:
        reasons.append(_reason("other_shapes", share=f"{100 * share:.0f}"))
    modes = [_mode(side) for side in (first, second)]
    if "unknown" not in modes and "reported" not in modes and modes[0] != modes[1]:
        reasons.append(_reason("other_mode", a=modes[0], b=modes[1]))
    return reasons


def device(side: Side) -> str | None:
    """What the side ran on, as far as it was recorded."""
    rows = side.store.scan("ranks").filter(pl.col("rank").is_in(side.chosen_ranks))
    names = (
        rows.select(pl.coalesce(pl.col("device_name", "device_kind").cast(pl.String)))
        .collect()
        .to_series()
        .drop_nulls()
    )
    return ", ".join(sorted(set(names.to_list()))) or None


def _other_shapes_share(operators: list[OperatorChange]) -> float:
    """The share of the time of operators that both sides have whose shapes differ."""
    both = [row for row in operators if row.part == COMPUTING and row.status in ("matched", "renamed", "other_shapes")]
    time = sum(row.a_us + row.b_us for row in both)
    return sum(row.a_us + row.b_us for row in both if row.status == "other_shapes") / time if time else 0.0


def _mode(side: Side) -> str:
    modes = side.counted["mode"].unique().to_list()
    return "training" if "training" in modes else sorted(modes)[0]


def _reason(code: str, **values: object) -> Reason:
    return Reason(code, Bilingual.of(f"compare_reason.{code}", **values))
