"""All computing in the counted steps of a rank, grouped into a small table that the rules on computing share."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from functools import cache
from typing import Final

import polars as pl

from stepscope.analysis.foundation.work import COMPUTE, LANE
from stepscope.analysis.operators.executed import host_work
from stepscope.analysis.operators.groups import described
from stepscope.diagnosis.measures.attention import with_attention
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.compute_roles import compute_roles_facts
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore

LAYOUT, CAST, MODEL = "layout", "cast", "model"
_COLUMNS: Final = (
    "slice",
    "track",
    "start_ns",
    "dur_ns",
    "step",
    "name",
    "type",
    "core",
    "operator",
    "phase",
    "dtypes",
)
#: The operators of the host that every copy ends in, and that make room for one.
_COPY: Final = "aten::copy_"
_CLONE: Final = "aten::clone"
_KEYS: Final = (
    "name",
    "type",
    "core",
    "operator",
    "phase",
    "dtypes",
    "category",
    "role",
    "in_attention",
    "chained",
    "in_tail",
)


@dataclass(frozen=True)
class Computing:
    """Groups of equal kernels of one rank, with times per counted step.

    ``groups`` has a row for each combination of name, type, core, operator, phase, category, role (``layout``, ``cast``
    or ``model``), ``in_attention`` (what a fused attention would not do), ``chained`` (part of another long row of
    elementwise kernels) and ``in_tail`` (behind backward), with ``us`` a step, ``count`` a step, and the longest kernel
    as ``slice``, ``start_ns``, ``longest_ns``. Times count with what they add to the step where kernels overlap.
    """

    rank: int
    steps: int
    period_us: float
    on_device: bool
    groups: pl.DataFrame
    fusible_us: float  # what fusing each long row into its longest kernel would save
    chain_length: float  # mean number of kernels in such a row
    tail_us: float  # behind backward and beside the update, in the median step

    def share(self, time_us: float) -> float:
        """A time as a part of the mean step."""
        return time_us / self.period_us if self.period_us else 0.0


def computing_of(store: RunStore, time: RankTime) -> Computing | None:
    """The computing of a rank; None where no kernel and no operator was recorded in its steps."""
    rows = _kernels(store, time)
    on_device = not rows.is_empty()
    if not on_device:
        rows = _operators(store, time)
    if rows.is_empty():
        return None
    rows = with_attention(_with_roles(described(rows)))
    rows = _with_tail(_with_chains(rows, on_device=on_device))
    count = len(time.steps)
    total_us = int(rows["dur_ns"].sum()) / 1000 / count
    # Kernels of several streams overlap: each counts with its part of the time in which anything computed.
    weight = min(time.computing_us / total_us, 1.0) if total_us else 1.0
    per_step = weight / 1000 / count
    groups = rows.group_by(_KEYS, maintain_order=True).agg(
        us=pl.col("dur_ns").sum() * per_step,
        count=pl.len() / count,
        longest_ns=pl.col("dur_ns").max(),
        slice=pl.col("slice").sort_by("dur_ns").last(),
        start_ns=pl.col("start_ns").sort_by("dur_ns").last(),
    )
    chained = rows.filter("chained")
    mean_length = chained.group_by("chain").len()["len"].mean()
    return Computing(
        rank=time.rank,
        steps=count,
        period_us=time.period_us,
        on_device=on_device,
        groups=groups.sort("us", descending=True),
        fusible_us=_saved_by_fusing_ns(chained) * per_step,
        chain_length=mean_length if isinstance(mean_length, float) else 0.0,
        tail_us=_median_tail_ns(rows, time.steps) * weight / 1000,
    )


def _median_tail_ns(rows: pl.DataFrame, steps: list[int]) -> float:
    """The median over steps, because what only some steps do after backward (validation) is no part of the others."""
    tails = dict(rows.filter("in_tail").group_by("step").agg(pl.col("dur_ns").sum()).iter_rows())
    return float(statistics.median(tails.get(step, 0) for step in steps))


def _kernels(store: RunStore, time: RankTime) -> pl.DataFrame:
    scan = store.scan("slices", [time.rank]).filter((pl.col("kind") == "kernel") & pl.col("step").is_in(time.steps))
    return scan.select(*_COLUMNS, lane=pl.lit(COMPUTE, LANE)).collect()


def _operators(store: RunStore, time: RankTime) -> pl.DataFrame:
    """On a machine without an accelerator, operators with their own time."""
    rows = host_work(store, time.rank, time.steps).filter(pl.col("lane") == COMPUTE)
    slices = store.scan("slices", [time.rank]).select("slice", "track", "phase", "parent", "name").collect()
    rows = rows.join(slices.drop("name"), on="slice", how="left")
    # The operator around a copy knows what is copied, and why; what asks for another layout may ask for a clone.
    callers = slices.select(parent="slice", caller=pl.col("name").cast(pl.String), around="parent")
    askers = slices.select(around="slice", asker=pl.col("name").cast(pl.String))
    copies = pl.col("name").cast(pl.String) == _COPY
    converts = pl.col("asker").str.contains(compute_roles_facts().roles.layout_operator)
    rows = rows.join(callers, on="parent", how="left", maintain_order="left")
    rows = rows.join(askers, on="around", how="left", maintain_order="left")
    caller = pl.when((pl.col("caller") == _CLONE) & converts).then("asker").otherwise("caller")
    operator = pl.col("operator").cast(pl.String)
    rows = rows.with_columns(operator=pl.when(copies).then(pl.coalesce(caller, operator)).otherwise(operator))
    return rows.select(*_COLUMNS, "lane")


def _with_roles(rows: pl.DataFrame) -> pl.DataFrame:
    """By distinct names; the kernel's own name goes before that of its operator."""
    keys = ["name", "type", "operator"]
    names = rows.select(keys).unique()
    texts = names.select(pl.col(keys).cast(pl.String).fill_null("")).iter_rows()
    roles = pl.Series("role", [_role(name, kind, operator) for name, kind, operator in texts], pl.String)
    return rows.join(names.with_columns(roles), on=keys, how="left", nulls_equal=True, maintain_order="left")


@cache
def _role(name: str, kind: str, operator: str) -> str:
    """On the host no kernel has a name of its own: copies convert, and the operator around them tells what."""
    roles = compute_roles_facts().roles
    on_host = name.startswith("aten::")
    if on_host and name != _COPY:
        return MODEL
    text, cast, layout = (
        (operator, roles.cast_operator, roles.layout_operator)
        if on_host
        else (f"{kind} {name}", roles.cast_kernel, roles.layout_kernel)
    )
    return CAST if re.search(cast, text) else LAYOUT if re.search(layout, text) else MODEL


def _with_chains(rows: pl.DataFrame, *, on_device: bool) -> pl.DataFrame:
    """``chain`` numbers rows of elementwise kernels that follow each other; ``chained`` are those long enough."""
    limits = finding_facts()
    least = limits.kernel_fusion.least_chain
    rows = rows.sort("track", "start_ns")
    if not on_device:
        # Operators around others, views and allocations are no kernels, and lie between what is.
        brief = pl.col("dur_ns") < limits.reachable.least_kernel_us * 1000
        aside = brief | (pl.col("category").cast(pl.String) == "other")
        rows = pl.concat([rows.filter(~aside), rows.filter(aside)])
    elementwise = (pl.col("category").cast(pl.String) == "elementwise") & (pl.col("role") == MODEL)
    rows = rows.with_columns(elementwise=elementwise & ~pl.col("in_attention"))
    breaks = pl.any_horizontal(
        pl.col(name) != pl.col(name).shift() for name in ("track", "step", "elementwise")
    ).fill_null(value=True)
    rows = rows.with_columns(chain=breaks.cum_sum())
    return rows.with_columns(chained=pl.col("elementwise") & (pl.len().over("chain") >= least)).drop("elementwise")


def _saved_by_fusing_ns(chained: pl.DataFrame) -> int:
    """A fused kernel takes as long as the longest of its row; an update as the longest of each parameter.

    What a kernel takes for itself, however little it does, is then spent once.
    """
    own_ns = round(finding_facts().reachable.least_kernel_us * 1000)
    rows = _with_parameters(chained)
    longest = rows.group_by("chain", "updates", "parameter").agg(pl.col("dur_ns").sum(), longest=pl.col("dur_ns").max())
    work = (pl.col("longest") - own_ns).clip(lower_bound=0).sum() + own_ns
    fused = longest.group_by("chain", "updates").agg(
        pl.col("dur_ns").sum() - pl.max_horizontal(pl.col("longest").max(), pl.when("updates").then(work).first())
    )
    return int(fused["dur_ns"].clip(lower_bound=0).sum())


def _with_parameters(chained: pl.DataFrame) -> pl.DataFrame:
    """``parameter`` numbers what belongs together in ``updates``: of N parameters, every operator has N kernels, or a
    multiple of that. Rows of the model pass through one tensor.
    """
    row = ["chain", "updates"]
    rows = chained.with_columns(
        updates=(pl.col("phase").cast(pl.String) == "optimizer").fill_null(value=False),
        does=pl.coalesce(pl.col("operator", "name").cast(pl.String)),
    )
    rows = rows.with_columns(
        times=pl.len().over(*row, "does"),
        turn=pl.int_range(pl.len()).over(*row, "does"),
        usual=pl.len().over(row) / pl.col("does").n_unique().over(row),
    )
    # What only some parameters need, as at the first update, does not tell how many there are.
    often = pl.when(2 * pl.col("times") >= pl.col("usual")).then("times")
    parameters = often.min().over(row)
    return rows.with_columns(
        parameter=pl.when("updates").then(pl.col("turn") * parameters // pl.col("times")).otherwise(0)
    )


def _with_tail(rows: pl.DataFrame) -> pl.DataFrame:
    """``in_tail``: behind the last kernel of backward, and no part of the update of parameters.

    Where no kernel is known to be of an update, nobody can tell the others from it.
    """
    knows_updates = (pl.col("phase").cast(pl.String) == "optimizer").any()
    backward_end = (pl.col("start_ns") + pl.col("dur_ns")).filter(pl.col("phase") == "backward").max().over("step")
    behind = (pl.col("start_ns") >= backward_end).fill_null(value=False)
    words = pl.concat_str(pl.col("name", "operator").cast(pl.String).fill_null(""), separator=" ")
    beside = (pl.col("phase") != "optimizer") | words.str.contains(compute_roles_facts().roles.not_an_update)
    return rows.with_columns(in_tail=behind & beside.fill_null(value=True) & knows_updates.fill_null(value=False))
