"""The parallel plan: which rank has which coordinates, which ranks form which groups, which stage holds which layers.

Ranks are numbered as Megatron does: tensor-parallel neighbours first, then context, then data, pipeline stages last.
Within a stage, arrays over its ranks therefore have the shape (dp, cp, tp).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from stepscope.arrays import Int64s
from stepscope.simulate.scenario import Plan

Values = TypeVar("Values", bound=npt.NDArray[Any])

#: Groups of ranks that collectives run in; all but the last two lie within a pipeline stage.
DIMENSIONS: Final = ("tp", "cp", "ep", "dp", "pp", "world")


@dataclass(frozen=True)
class Group:
    """Ranks that communicate with each other, in the group's order."""

    name: str
    dimension: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Coordinates and groups of all ranks of a plan."""

    plan: Plan
    ranks_per_host: int

    @property
    def world(self) -> int:
        return self.plan.dp * self.plan.tp * self.plan.pp * self.plan.cp

    @property
    def per_stage(self) -> int:
        return self.world // self.plan.pp

    @property
    def hosts(self) -> int:
        return -(-self.world // self.ranks_per_host)

    def host_of(self, rank: int) -> int:
        return rank // self.ranks_per_host

    def stage_ranks(self, stage: int) -> Int64s:
        """Ranks of a stage, in the order of its arrays."""
        return np.arange(self.per_stage, dtype=np.int64) + stage * self.per_stage

    def coordinates(self, rank: int) -> dict[str, int]:
        """Coordinates of a rank, by dimension.

        >>> from stepscope.simulate.scenario import Plan
        >>> Layout(Plan(dp=2, tp=2, pp=2, ep=2), 8).coordinates(6)
        {'dp': 1, 'tp': 0, 'pp': 1, 'ep': 1, 'cp': 0}
        """
        plan = self.plan
        pp, rest = divmod(rank, self.per_stage)
        dp, rest = divmod(rest, plan.cp * plan.tp)
        cp, tp = divmod(rest, plan.tp)
        return {"dp": dp, "tp": tp, "pp": pp, "ep": dp % plan.ep, "cp": cp}

    @cached_property
    def groups(self) -> dict[str, list[Group]]:
        """Groups of more than one rank, by dimension, in the order of their first ranks."""
        return {dimension: self._groups(dimension) for dimension in DIMENSIONS}

    def _groups(self, dimension: str) -> list[Group]:
        if dimension == "world":
            return [Group("world", "world", tuple(range(self.world)))] if self.world > 1 else []
        if dimension == "pp":
            columns = np.arange(self.world).reshape(self.plan.pp, self.per_stage).T
        else:
            columns = np.concatenate(
                [self.in_groups(self.stage_ranks(stage), dimension) for stage in range(self.plan.pp)]
            )
        if columns.shape[1] < 2:
            return []
        return [Group(f"{dimension}_{number}", dimension, tuple(row)) for number, row in enumerate(columns.tolist())]

    def in_groups(self, values: Int64s, dimension: str) -> Int64s:
        """Values of a stage's ranks, one row per group of a dimension."""
        plan = self.plan
        shape = (plan.dp // plan.ep, plan.ep, plan.cp, plan.tp)
        cube = values.reshape(shape)
        if dimension == "tp":
            return cube.reshape(-1, plan.tp)
        if dimension == "cp":
            return np.moveaxis(cube, 2, -1).reshape(-1, plan.cp)
        if dimension == "ep":
            return np.moveaxis(cube, 1, -1).reshape(-1, plan.ep)
        # Gradients are the same on all ranks that saw other data: data and context parallel ones together.
        return np.moveaxis(cube, 3, 0).reshape(plan.tp, -1)

    def spread(self, per_group: Values, dimension: str) -> Values:
        """Values of the groups of a dimension, back on each rank of a stage: the inverse of :meth:`in_groups`."""
        plan = self.plan
        size = self.per_stage // len(per_group)
        rows = np.repeat(per_group[:, None], size, axis=1)
        first = plan.dp // plan.ep
        if dimension == "tp":
            cube = rows.reshape(first, plan.ep, plan.cp, plan.tp)
        elif dimension == "cp":
            cube = np.moveaxis(rows.reshape(first, plan.ep, plan.tp, plan.cp), -1, 2)
        elif dimension == "ep":
            cube = np.moveaxis(rows.reshape(first, plan.cp, plan.tp, plan.ep), -1, 1)
        else:
            cube = np.moveaxis(rows.reshape(plan.tp, first, plan.ep, plan.cp), 0, 3)
        return np.ascontiguousarray(cube).reshape(-1)  # type: ignore[return-value]


def layers_of_chunks(layers: int, plan: Plan) -> list[list[int]]:
    """Layers of each model chunk, in the order of the model; chunk ``c`` of stage ``s`` is number ``c * pp + s``.

    >>> from stepscope.simulate.scenario import Plan
    >>> layers_of_chunks(5, Plan(pp=2))
    [[0, 1, 2], [3, 4]]
    """
    parts = plan.pp * plan.chunks
    return [part.tolist() for part in np.array_split(np.arange(layers), parts)]
