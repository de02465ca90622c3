"""FLOPs that repeat the forward pass, whose results were not kept: they count for the device, not for the model."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.operators.nesting import NOWHERE
from stepscope.analysis.operators.ownership import Ownership
from stepscope.arrays import Bools, Int64s
from stepscope.facts.flops import flops_facts
from stepscope.store.run_store import RunStore

_SAME: Final = ["name", "input_shapes", "dtype"]


def is_recomputed(column: str) -> pl.Expr:
    """Whether a name is that of an operator that does the forward pass once more."""
    return pl.col(column).str.contains(flops_facts().recomputation.pattern).fill_null(False)


def with_recomputation(calls: pl.DataFrame, store: RunStore, rank: int, owners: Ownership) -> pl.DataFrame:
    """Calls, with ``again`` set for all that a checkpoint runs once more in the backward pass.

    What lies in a further node of the backward pass, inside the checkpoint's, is the backward pass proper.
    """
    if calls.is_empty():
        return calls
    operators = slices_of(store, rank).filter(pl.col("kind") == "operator").select("slice", "name").collect()
    names = operators["name"].unique()
    table = flops_facts().recomputation
    texts = names.cast(pl.String)
    again, nodes = (names.filter(texts.str.contains(pattern)) for pattern in (table.pattern, table.node))
    if not len(again) + len(nodes):
        return calls
    checkpoint_nodes = operators.filter(pl.col("name").is_in(pl.concat([again, nodes]).implode()))
    checkpoint_nodes = checkpoint_nodes.select("slice", again=pl.col("name").is_in(again.implode()))
    positions = owners.nesting.positions(checkpoint_nodes["slice"].to_numpy())
    node, repeats = (np.zeros(owners.nesting.size + 1, bool) for _ in range(2))
    node[positions], repeats[positions] = True, checkpoint_nodes["again"].to_numpy()
    around = owners.above[calls["position"].to_numpy()]
    while (climbing := (around != NOWHERE) & ~node[around]).any():
        around = np.where(climbing, owners.above[around], around)
    repeated = (around != NOWHERE) & repeats[around]
    repeated |= _inside_other_nodes(calls, around, (around != NOWHERE) & ~repeats[around], store, rank, owners)
    return calls.with_columns(again=pl.when(pl.Series(repeated)).then("flops").otherwise("again"))


def _inside_other_nodes(
    calls: pl.DataFrame, around: Int64s, inside: Bools, store: RunStore, rank: int, owners: Ownership
) -> Bools:
    """Calls that a checkpoint without reentrance repeats: it runs them in whatever node asks first for what it dropped.

    Such a call has a twin in the forward pass and is recorded for differentiation, while the operators of the node
    itself, of which the last runs after it, are not (they are where the backward pass is itself differentiated).
    """
    forward = calls.filter(pl.Series(around == NOWHERE)).select(_SAME).unique()
    order = calls.select(_SAME).with_row_index("order").filter(pl.Series(inside))
    index = order.join(forward, on=_SAME, how="semi", nulls_equal=True)["order"].to_numpy()
    repeated = np.zeros(len(calls), bool)
    if not len(index):  # usual: the products of a backward pass are others
        return repeated
    body = call = calls["position"].to_numpy()[index]
    while (climbing := owners.above[body] != around[index]).any():
        body = np.where(climbing, owners.above[body], body)
    outermost = call  # in the body: it is recorded where what it calls is not
    while (climbing := (body != call) & (owners.above[outermost] != body)).any():
        outermost = np.where(climbing, owners.above[outermost], outermost)
    last = _last_inside(body, store, rank, owners)
    recorded, around_recorded, last_recorded = np.split(
        _recorded(np.concatenate([call, outermost, last]), store, rank, owners), 3
    )
    repeated[index] = (body != call) & (last != NOWHERE) & (recorded | around_recorded) & ~last_recorded
    return repeated


def _last_inside(bodies: Int64s, store: RunStore, rank: int, owners: Ownership) -> Int64s:
    """The operator that starts last directly in each of these, or NOWHERE."""
    wanted = np.zeros(owners.nesting.size + 1, bool)
    wanted[bodies] = True
    wanted[NOWHERE] = False
    children = np.flatnonzero(wanted[owners.above] & owners.is_operator)
    rows = slices_of(store, rank).select(pl.col("slice").cast(pl.Int64), "start_ns")
    times = rows.filter(pl.col("slice").is_in(pl.Series(_slices(children, owners)).implode())).sort("start_ns")
    ordered = owners.nesting.positions(times.collect()["slice"].to_numpy())
    last = np.full(owners.nesting.size + 1, NOWHERE)
    last[owners.above[ordered]] = ordered  # of equal places the latter is kept
    return last[bodies]


def _recorded(positions: Int64s, store: RunStore, rank: int, owners: Ownership) -> Bools:
    """Whether each operator is recorded for differentiation: it has a number in the graph, and is no node of it."""
    known = positions[positions != NOWHERE]
    wanted = pl.Series(np.unique(_slices(known, owners)), dtype=pl.UInt32)
    details = store.scan("details", [rank]).filter(pl.col("slice").is_in(wanted.implode()))
    patterns = flops_facts().recomputation.recorded
    both = pl.all_horizontal(pl.col("json").str.contains(pattern) for pattern in patterns)
    recorded_slices = details.filter(both).select("slice").collect()["slice"].to_numpy()
    mask = np.zeros(owners.nesting.size + 1, bool)
    mask[owners.nesting.positions(recorded_slices)] = True
    mask[NOWHERE] = False
    return mask[positions]


def _slices(positions: Int64s, owners: Ownership) -> Int64s:
    return owners.nesting.ids[positions] if len(owners.nesting.ids) else positions
