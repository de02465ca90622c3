"""What became of each operator: rows of matched calls with their means, effects and whether they stand out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.arrays import Bools, Int64s
from stepscope.compare.amounts import apportioned
from stepscope.compare.comparison import OperatorChange, Status
from stepscope.compare.credit import PARTS
from stepscope.compare.matching import Kind, Matching, RowKey
from stepscope.compare.noise import standing_out
from stepscope.compare.shapes import same_shapes
from stepscope.compare.side import Side
from stepscope.facts.comparison import comparison_facts


@dataclass(frozen=True)
class RowSums:
    """Per side and row of the matching: mean time and count per step, and an example."""

    mean_ns: tuple[Int64s, Int64s]
    calls: tuple[Int64s, Int64s]
    stands_out: Bools
    part: list[str]


def row_sums(first: Side, second: Side, matching: Matching, parts_ns: tuple[dict[str, int], dict[str, int]]) -> RowSums:
    """``parts_ns`` are the means of the parts, which the rows of each part add up to."""
    count = len(matching.rows)
    part = [matching.kinds[(key.first or key.second)[0]].part for key in matching.rows]
    means, calls, samples = [], [], []
    for side, units, wanted in zip((first, second), matching.units, parts_ns, strict=True):
        rows = units["row"].to_numpy()
        sums = side.per_sample(rows, units["sample"].to_numpy(), units["credit_ns"].to_numpy(), count)
        mean = np.zeros(count, np.int64)
        for name in PARTS:
            chosen = np.array([each == name for each in part], np.bool_)
            mean[chosen] = apportioned(sums[chosen].sum(axis=1), side.pairs, wanted[name])
        means.append(mean)
        calls.append(np.bincount(rows, minlength=count))
        samples.append(sums / np.maximum(side.ranks_per_sample, 1))
    facts = comparison_facts()
    period = first.parts_ns["period"].mean()
    larger = np.maximum(*means).astype(np.float64)
    least = np.maximum(larger * facts.least_share_of_operator, float(period or 0) * facts.least_share_of_step)  # type: ignore[arg-type]
    enough = min(first.samples, second.samples) > 1
    out = standing_out(samples[0], samples[1], least, facts.chance) if enough else np.zeros(count, np.bool_)
    return RowSums((means[0], means[1]), (calls[0], calls[1]), out, part)


def operator_changes(first: Side, second: Side, matching: Matching, sums: RowSums) -> list[OperatorChange]:
    """All rows, the largest change first."""
    period = float(first.parts_ns["period"].mean() or 0)  # type: ignore[arg-type]
    examples = [_examples(units) for units in matching.units]
    modules = _modules(first, second, matching)
    changes = []
    for number, key in enumerate(matching.rows):
        a_ns, b_ns = (int(mean[number]) for mean in sums.mean_ns)
        a_count, b_count = (
            int(calls[number]) / side.pairs for calls, side in zip(sums.calls, (first, second), strict=True)
        )
        delta = b_ns - a_ns
        # More or fewer calls at the former duration; the rest is the duration of the calls that there are.
        count_effect = round((b_count - a_count) * a_ns / a_count) if a_count and b_count else delta
        kinds_a, kinds_b = ([matching.kinds[kind] for kind in kinds] for kinds in (key.first, key.second))
        own = (kinds_a or kinds_b)[0]
        other = kinds_b[0] if kinds_a and kinds_b else None
        (a_rank, a_slice), (b_rank, b_slice) = (example.get(number, (None, None)) for example in examples)
        changes.append(
            OperatorChange(
                part=sums.part[number],
                name=_names(kinds_a or kinds_b),
                b_name=_names(kinds_b) if other is not None and _names(kinds_b) != _names(kinds_a) else None,
                path=own.path,
                b_path=other.path if other is not None and other.path != own.path else None,
                shapes=own.shapes,
                b_shapes=other.shapes if other is not None and other.shapes != own.shapes else None,
                module=modules.get(number),
                status=_status(key, kinds_a, kinds_b),
                a_count=round(a_count, 3),
                b_count=round(b_count, 3),
                a_us=a_ns / 1000,
                b_us=b_ns / 1000,
                delta_us=delta / 1000,
                delta_share=delta / period if period else 0.0,
                ratio=b_ns / a_ns if a_ns else None,
                count_effect_us=count_effect / 1000,
                duration_effect_us=(delta - count_effect) / 1000,
                significant=bool(sums.stands_out[number]),
                a_rank=a_rank,
                a_slice=a_slice,
                b_rank=b_rank,
                b_slice=b_slice,
            )
        )
    return sorted(changes, key=lambda change: (-abs(change.delta_us), change.part, change.name))


def _status(key: RowKey, first: list[Kind], second: list[Kind]) -> Status:
    if not first:
        return "only_b"
    if not second:
        return "only_a"
    if len(key.first) > 1 or len(key.second) > 1 or first[0].name != second[0].name:
        return "replaced"
    if not same_shapes(first[0].shapes, second[0].shapes):
        return "other_shapes"
    return "matched" if first[0].path == second[0].path else "renamed"


def _names(kinds: list[Kind]) -> str:
    return ", ".join(dict.fromkeys(kind.name for kind in kinds))


def _examples(units: pl.DataFrame) -> dict[int, tuple[int, int]]:
    """The longest call of each row."""
    longest = units.sort("credit_ns", "slice", descending=[True, False]).unique(
        "row", keep="first", maintain_order=True
    )
    return {row: (rank, call) for row, rank, call in longest.select("row", "rank", "slice").iter_rows()}


def _modules(first: Side, second: Side, matching: Matching) -> dict[int, str]:
    """The module of a row where all its calls lie in one."""
    modules: dict[int, str] = {}
    for side, units in zip((second, first), reversed(matching.units), strict=True):
        known = side.calls.filter(pl.col("module").is_not_null()).select("rank", "call", "sample", "module").unique()
        rows = units.join(known, on=["rank", "sample", "call"]).group_by("row").agg(pl.col("module").unique())
        modules |= {row: names[0] for row, names in rows.iter_rows() if len(names) == 1}
    return modules
