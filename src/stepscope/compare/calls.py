"""What each credited slice is part of: the call of an operator, known by its path, its shapes and its turn in the step.

A path is the chain of operators around the call, outermost first (``aten::linear / aten::addmm``). It says where in the
program a kernel comes from, so kernels of different names can be compared. Without operators a kernel is a call itself.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.work import work_of
from stepscope.analysis.operators.groups import described
from stepscope.analysis.operators.nesting import NOWHERE
from stepscope.analysis.operators.ownership import Ownership, ownership_of
from stepscope.arrays import Int64s
from stepscope.compare.credit import COMPUTING, EXPOSED_COMMUNICATION, PARTS, credited_slices
from stepscope.store.run_store import RunStore

SEPARATOR: Final = " / "
_MOST_LEVELS: Final = 32  # operators in operators; deeper ones are no structure that helps
_FACTS: Final = ("start_ns", "dur_ns", "name", "type", "operator", "module", "input_shapes", "bytes")
# Numbers that count instances: MatMul-op12, hcom_allReduce__586_0_1, evaluate_function #3.
_INSTANCE: Final = re.compile(r"-op\d+|(?:_+\d+)+$|\s*#\d+$")
_LANES: Final = dict(zip(PARTS, ("compute", "communication", "copy"), strict=True))


def executed_calls(store: RunStore, rank: int) -> pl.DataFrame:
    """Credited slices with ``path``, ``shapes``, ``module``, ``kernel``, ``category``, and ``call``, ``called_ns``.

    ``call`` is the slice of the operator that the slice belongs to, ``called_ns`` when that began.
    """
    rows = credited_slices(store, rank)
    slices = store.scan("slices", [rank]).select(pl.col("slice").cast(pl.Int64), *_FACTS).collect()
    rows = rows.join(slices, on="slice", how="left", maintain_order="left")
    rows = described(rows.with_columns(lane=pl.col("part").replace_strict(_LANES, return_dtype=pl.String)))
    owners = ownership_of(store, rank)
    position = owners.nesting.positions(rows["slice"].to_numpy())
    on_device = work_of(store, rank).on_device
    owner = owners.owner[position] if on_device else np.where(owners.is_operator[position], position, NOWHERE)
    rows = rows.with_columns(owner=pl.Series(owner))
    known = _operators(store, rank, owners, owner, slices)
    rows = rows.join(known, on="owner", how="left", maintain_order="left")
    kernel = pl.coalesce("type", "name").cast(pl.String)
    own = (
        pl.when(pl.col("part") == COMPUTING)
        .then(pl.coalesce(pl.col("operator").cast(pl.String), kernel))
        .otherwise(kernel)
    )
    return rows.select(
        "slice",
        "step",
        "part",
        "credit_ns",
        "dur_ns",
        "category",
        "bytes",
        # Wrappers launch collectives of all kinds.
        path=pl.when(pl.col("part") == EXPOSED_COMMUNICATION)
        .then(_without_instances(rows, kernel))
        .otherwise(pl.coalesce("path", _without_instances(rows, own))),
        # What a collective or a copy moves is its size, not the shape of what its caller was given.
        shapes=pl.when(pl.col("part") == COMPUTING).then(
            pl.coalesce(pl.col("input_shapes").cast(pl.String), "owner_shapes")
        ),
        module=pl.coalesce(pl.col("module").cast(pl.String), "owner_module"),
        kernel=_without_instances(rows, kernel),
        call=pl.coalesce("owner_slice", "slice"),
        called_ns=pl.coalesce("owner_start_ns", "start_ns"),
    )


def _without_instances(rows: pl.DataFrame, name: pl.Expr) -> pl.Series:
    """Names without the numbers that count instances; works on distinct names."""
    names = rows.select(name.alias("name")).to_series()
    distinct = names.drop_nulls().unique()
    plain = {each: _INSTANCE.sub("", each) or each for each in distinct.to_list()}
    return names.replace_strict(plain, default=None, return_dtype=pl.String)


def _operators(store: RunStore, rank: int, owners: Ownership, owner: Int64s, slices: pl.DataFrame) -> pl.DataFrame:
    """The operators that own something, with path, slice, start, shapes and module."""
    used = np.unique(owner)
    used = used[used != NOWHERE]
    columns = {"slice": pl.Int64, "start_ns": pl.Int64, "input_shapes": pl.String, "module": pl.String}
    facts = slices.with_columns(owner=pl.Series(owners.nesting.positions(slices["slice"].to_numpy())))
    known = pl.DataFrame({"owner": used, "path": _paths(owners, used, facts), "forward": owners.forward_of(used)})
    wanted = facts.select(
        "owner", *(pl.col(name).cast(kind).alias(f"owner_{_SHORT.get(name, name)}") for name, kind in columns.items())
    )
    known = known.join(wanted, on="owner", how="left", maintain_order="left")
    # An operator of a backward pass lies in no module; it belongs to that of its forward operator.
    forward = facts.select(forward="owner", forward_module=pl.col("module").cast(pl.String))
    known = known.join(forward, on="forward", how="left", maintain_order="left")
    return known.with_columns(owner_module=pl.coalesce("owner_module", "forward_module")).drop(
        "forward", "forward_module"
    )


_SHORT: Final = {"input_shapes": "shapes"}


def _paths(owners: Ownership, used: Int64s, facts: pl.DataFrame) -> pl.Series:
    """Names from the outermost operator to each of those used."""
    code = np.full(owners.nesting.size + 1, -1, np.int64)
    names = facts["name"].cast(pl.String)
    distinct = names.unique(maintain_order=True)
    numbers = names.replace_strict(distinct, pl.Series(np.arange(len(distinct))), return_dtype=pl.Int64)
    code[facts["owner"].to_numpy()] = numbers.to_numpy()
    plain = [_INSTANCE.sub("", name or "") or name or "" for name in distinct.to_list()]
    levels: list[Int64s] = []
    climbing = used
    while len(levels) < _MOST_LEVELS and (climbing != NOWHERE).any():
        levels.append(np.where(climbing != NOWHERE, code[climbing], -1))
        climbing = np.where(climbing != NOWHERE, owners.above[climbing], NOWHERE)
    if not levels:
        return pl.Series([], dtype=pl.String)
    chains = pl.DataFrame({f"level_{number}": level for number, level in enumerate(levels)})
    kinds = chains.unique(maintain_order=True)
    texts = [SEPARATOR.join(plain[number] for number in reversed(chain) if number >= 0) for chain in kinds.iter_rows()]
    return chains.join(kinds.with_columns(path=pl.Series(texts)), on=chains.columns, how="left", maintain_order="left")[
        "path"
    ]
