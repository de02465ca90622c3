"""Which slices' FLOPs count, each once: operators by their shapes, kernels that no such operator owns, and counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.analysis.flops.cost import Cost, compute_dtype
from stepscope.analysis.flops.formulas import cost, known_names, needs_arguments
from stepscope.analysis.flops.graph_kernels import captured_operators, first_kernels, standing_for
from stepscope.analysis.flops.recomputation import is_recomputed, with_recomputation
from stepscope.analysis.flops.shapes import ARGUMENTS, arguments, dtypes, lists, shapes
from stepscope.analysis.flops.typed import rules, typed_cost
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.operators.executed import chosen_steps
from stepscope.analysis.operators.nesting import NOWHERE
from stepscope.analysis.operators.ownership import Ownership, ownership_of
from stepscope.arrays import Bools, Int64s
from stepscope.facts.flops import flops_facts
from stepscope.store.run_store import RunStore

_SCHEMA: Final = {
    "position": pl.Int64,
    "step": pl.Int64,
    "name": pl.String,
    "kind": pl.String,
    "input_shapes": pl.String,
    "dtype": pl.String,
    "flops": pl.Int64,
    "again": pl.Int64,
    "bytes": pl.Int64,
    "source": pl.String,
}
_TEXTS: Final = ["name", "type", "input_shapes", "output_shapes", "dtypes", "formats"]


@dataclass(frozen=True)
class Counted:
    """Calls whose FLOPs are known (``position`` is that of an operator or kernel), and what could not be counted."""

    calls: pl.DataFrame
    owners: Ownership
    without_shapes: int  # calls of operators that have a formula, but no shapes
    misfits: int  # calls with shapes that fit no formula
    padded: int  # convolutions counted with channels filled up to a multiple of the block
    first_kernel: Int64s  # by position: the kernel that stands for the same operator of a graph, or NOWHERE

    def call_of(self, slices: Int64s) -> Int64s:
        """The counted call (its position) that each device slice works for, or NOWHERE."""
        mask = np.zeros(self.owners.nesting.size + 1, bool)
        mask[self.calls["position"].to_numpy()] = True
        positions = self.owners.nesting.positions(slices)
        first = self.first_kernel[positions]
        return _around(self.owners, np.where(first != NOWHERE, first, positions), mask)


def counted_calls(store: RunStore, rank: int, steps: Sequence[int] | None) -> Counted:
    """All calls of a rank whose FLOPs can be told."""
    owners = ownership_of(store, rank)
    slices = store.scan("slices", [rank])
    rows = slices.filter((pl.col("kind") == "operator") & pl.col("name").is_in(known_names()) & ~captured_operators())
    operators = rows.select(
        "slice", "step", *(pl.col(name).cast(pl.String) for name in ("name", "input_shapes", "dtypes"))
    ).collect()
    without_shapes = operators["input_shapes"].null_count()
    shaped = _placed(operators.filter(pl.col("input_shapes").is_not_null()), owners)
    inner = _innermost(shaped, owners)
    calls_known = _by_formula(store, rank, inner)
    told = set(calls_known["position"].to_list())
    if len(calls_known) < len(inner):
        rest = _by_formula(store, rank, shaped.join(inner, on="position", how="anti"))
        told |= set(rest["position"].to_list())
        calls_known = _innermost(pl.concat([calls_known, rest]), owners)
    calls_known = with_recomputation(calls_known, store, rank, owners)
    mask = np.zeros(owners.nesting.size + 1, bool)
    mask[calls_known["position"].to_numpy()] = True
    typed, padded, unclear = _by_type(store, rank, owners, mask)
    mask[typed["position"].to_numpy()] = True
    in_graphs, untold_in_graphs = _in_graphs(store, rank, owners, mask)
    mask[in_graphs["position"].to_numpy()] = True
    counted = _by_counters(store, rank, owners, mask)
    calls = pl.concat([calls_known, typed, in_graphs, counted])
    untold = shaped.filter(~pl.col("position").is_in(list(told)))["position"].to_numpy()
    misfits = untold[~_with_counted_inside(calls, owners)[untold]]
    first_kernel = standing_for(store, rank, owners.nesting)
    misfitting = len(misfits) + unclear + untold_in_graphs
    return Counted(chosen_steps(calls, steps), owners, without_shapes, misfitting, padded, first_kernel)


def _with_counted_inside(calls: pl.DataFrame, owners: Ownership) -> Bools:
    """Operators in which a counted call lies, or whose kernel is one."""
    inside = np.zeros(owners.nesting.size + 1, bool)
    positions = calls["position"].to_numpy()
    owner = owners.owner[positions]
    positions = np.unique(np.where(owner != NOWHERE, owner, owners.above[positions]))
    while len(positions := positions[positions != NOWHERE]):
        inside[positions] = True
        positions = np.unique(owners.above[positions])
    return inside


def _around(owners: Ownership, positions: Int64s, wanted: Bools) -> Int64s:
    """The slice itself, else the innermost wanted operator around it or, on the device, around its owner."""
    owner = owners.owner[positions]
    operator = np.where(wanted[positions], positions, np.where(owner != NOWHERE, owner, owners.above[positions]))
    while (climbing := (operator != NOWHERE) & ~wanted[operator]).any():
        operator = np.where(climbing, owners.above[operator], operator)
    return operator


def _innermost(calls: pl.DataFrame, owners: Ownership) -> pl.DataFrame:
    """Without calls that only hand on to others: ``linear`` calls ``addmm``, and only that one counts."""
    positions = calls["position"].to_numpy()
    mask = np.zeros(owners.nesting.size + 1, bool)
    mask[positions] = True
    outer = _around(owners, owners.above[positions], mask)
    hands_on = np.zeros(owners.nesting.size + 1, bool)
    hands_on[outer[outer != NOWHERE]] = True
    return calls.filter(pl.Series(~hands_on[positions]))


def _by_formula(store: RunStore, rank: int, rows: pl.DataFrame) -> pl.DataFrame:
    """Operators whose shapes fit a formula. Each distinct call is worked out once."""
    keys = ["name", "input_shapes", "dtypes", "arguments"]
    rows = _with_arguments(store, rank, rows)
    distinct = rows.select(keys).unique()
    costs = [
        cost(name, shapes(inputs), dtypes(types), arguments(given), lists(inputs))
        for name, inputs, types, given in distinct.iter_rows()
    ]
    distinct = _with_costs(distinct, costs)
    costed = rows.join(distinct, on=keys, nulls_equal=True)
    return _calls(costed, "shapes")


def _in_graphs(store: RunStore, rank: int, owners: Ownership, counted: Bools) -> tuple[pl.DataFrame, int]:
    """Operators that graphs run, each once per launch, and how many of them have shapes that do not tell."""
    kernels = _placed(first_kernels(store, rank), owners)
    around = _around(owners, kernels["position"].to_numpy(), counted)
    kernels = kernels.filter(pl.Series(around == NOWHERE))
    known = _by_formula(store, rank, kernels)
    return known, len(kernels) - len(known)


def _with_arguments(store: RunStore, rank: int, rows: pl.DataFrame) -> pl.DataFrame:
    wanted = rows.filter(pl.col("name").is_in([name for name in known_names() if needs_arguments(name)]))["slice"]
    if not len(wanted):
        return rows.with_columns(arguments=pl.lit(None, pl.String))
    details = store.scan("details", [rank]).filter(pl.col("slice").is_in(wanted.implode()))
    known = details.select("slice", arguments=pl.col("json").str.extract(ARGUMENTS, 1)).collect()
    return rows.join(known, on="slice", how="left")


def _with_costs(distinct: pl.DataFrame, costs: Sequence[Cost | None]) -> pl.DataFrame:
    """Rows whose cost is known and fits 64 bits."""
    known = [known_cost if known_cost is not None and known_cost.flops < 2**62 else None for known_cost in costs]
    columns: dict[str, list[Any]] = {
        "kind": [known_cost and known_cost.kind for known_cost in known],
        "flops": [known_cost and known_cost.flops for known_cost in known],
        "again": [known_cost and known_cost.again for known_cost in known],
        "bytes": [known_cost and known_cost.bytes for known_cost in known],
        "dtype": [compute_dtype(dtypes(text)) for text in distinct["dtypes"]],
    }
    distinct = distinct.with_columns(pl.Series(name, values, dtype=_SCHEMA[name]) for name, values in columns.items())
    return distinct.filter(pl.col("flops").is_not_null())


def _placed(rows: pl.DataFrame, owners: Ownership) -> pl.DataFrame:
    return rows.with_columns(position=pl.Series(owners.nesting.positions(rows["slice"].to_numpy()), dtype=pl.Int64))


def _calls(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    rows = rows.with_columns(source=pl.lit(source))
    return rows.select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())


def _by_type(store: RunStore, rank: int, owners: Ownership, counted: Bools) -> tuple[pl.DataFrame, int, int]:
    """Kernels (or, without a device, operators) of a known type with shapes, and no counted operator around them.

    Also how many are counted with filled channels, and how many have shapes that do not tell.
    """
    typed = pl.col("kind").is_in(["kernel", "operator"]) & pl.col("type").is_in(list(rules()))
    if slices_of(store, rank).filter(typed).head(1).collect().is_empty():  # usual on a GPU
        return pl.DataFrame(schema=_SCHEMA), 0, 0
    slices = store.scan("slices", [rank])
    kernels = slices.filter(typed).select("slice", "step", *(pl.col(name).cast(pl.String) for name in _TEXTS)).collect()
    kernels = kernels.filter(pl.col("input_shapes").is_not_null())
    positions = owners.nesting.positions(kernels["slice"].to_numpy())
    kernels = kernels.filter(pl.Series(_around(owners, positions, counted) == NOWHERE))
    kernels = kernels.with_columns(weight=_weights(slices, owners, kernels["slice"].to_numpy()))
    keys = ["type", "input_shapes", "output_shapes", "dtypes", "formats", "weight"]
    distinct = kernels.select(keys).unique()
    costs = [
        typed_cost(kind, shapes(inputs), shapes(outputs), dtypes(types), formats or "", weight)
        for kind, inputs, outputs, types, formats, weight in distinct.iter_rows()
    ]
    costed = kernels.join(_with_costs(distinct, costs), on=keys, nulls_equal=True)
    is_convolution = pl.col("type").is_in([name for name, rule in rules().items() if rule.startswith("convolution")])
    blocked = pl.col("formats").fill_null("").str.contains("(?i)NC1HWC0|Frac")
    padded = len(costed.filter(is_convolution & blocked & pl.col("weight").is_null()))
    again = pl.when(is_recomputed("name")).then("flops").otherwise("again")
    return (
        _calls(_placed(costed.with_columns(name="type", again=again), owners), "shapes"),
        padded,
        len(kernels) - len(costed),
    )


def _weights(scan: pl.LazyFrame, owners: Ownership, slices: Int64s) -> pl.Series:
    """Number of weights of the convolution operator that each kernel works for: kernels see channels filled up."""
    table = flops_facts().convolutions
    rows = scan.filter((pl.col("kind") == "operator") & pl.col("name").is_in(list(table)))
    rows = rows.select("slice", pl.col("name").cast(pl.String), pl.col("input_shapes").cast(pl.String)).drop_nulls()
    operators = rows.collect()
    sizes = np.zeros(owners.nesting.size + 1, np.int64)
    for number, name, text in operators.iter_rows():
        inputs, argument = shapes(text), table[name]["weight"]
        weight = inputs[argument] if argument < len(inputs) else None
        sizes[owners.nesting.positions(np.array([number]))] = int(np.prod(weight)) if weight else 0
    weights = sizes[_around(owners, owners.nesting.positions(slices), sizes > 0)]
    return pl.Series(weights, dtype=pl.Int64).replace(0, None)


def _by_counters(store: RunStore, rank: int, owners: Ownership, counted: Bools) -> pl.DataFrame:
    """Kernels without counted shapes, by the arithmetic counters of the device."""
    metrics = flops_facts().counted.metrics
    values = store.scan("pmu", [rank]).filter(pl.col("metric").cast(pl.String).is_in(metrics))
    sums = values.group_by("slice").agg(pl.col("value").sum()).filter(pl.col("value") > 0).collect()
    if sums.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    kernels = store.scan("slices", [rank]).filter(pl.col("kind") == "kernel").join(sums.lazy(), on="slice")
    rows = kernels.select("slice", "step", "value", *(pl.col(name).cast(pl.String) for name in _TEXTS)).collect()
    rows = rows.filter(
        pl.Series(_around(owners, owners.nesting.positions(rows["slice"].to_numpy()), counted) == NOWHERE)
    )
    rows = rows.with_columns(
        name=pl.coalesce("type", "name"),
        kind=pl.lit("counted"),
        flops=pl.col("value").round().cast(pl.Int64),
        again=pl.lit(0, pl.Int64),
        bytes=pl.lit(None, pl.Int64),
        dtype=pl.Series([compute_dtype(dtypes(text)) for text in rows["dtypes"]], dtype=pl.String),
    )
    return _calls(_placed(rows, owners), "counters")
