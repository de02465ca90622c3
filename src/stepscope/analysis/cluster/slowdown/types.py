"""The cluster's slowdown: measured against ideal, as a whole and by what keeps its recorded durations.

S, S_dp, S_stage, S_w, M_W and M_S of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI
2025); docs/metrics/cluster.md.
"""

from __future__ import annotations

import msgspec

from stepscope.analysis.foundation.units import Identifier, Microseconds, Ratio, Share


class DimensionSlowdown(msgspec.Struct, frozen=True):
    """The slowdown if only one line of ranks kept its recorded durations."""

    dimension: str
    index: Identifier
    slowdown: Ratio


class StageSlowdown(msgspec.Struct, frozen=True):
    """The slowdown if only one stage kept its durations."""

    stage: Identifier
    slowdown: Ratio


class RankSlowdown(msgspec.Struct, frozen=True):
    """How far one rank alone explains the slowdown."""

    rank: Identifier
    dp: Identifier | None
    stage: Identifier | None
    slowdown: Ratio


class OperationSlowdown(msgspec.Struct, frozen=True):
    """The slowdown if only operations of one name kept their durations."""

    operation: str
    slowdown: Ratio


class Slowdown(msgspec.Struct, frozen=True, kw_only=True):
    """Measured against ideal step."""

    total: Ratio
    straggling: bool
    measured_us: Microseconds
    replayed_us: Microseconds
    ideal_us: Microseconds
    replay_error_share: Share
    by_dimension: list[DimensionSlowdown]
    by_stage: list[StageSlowdown]
    by_rank: list[RankSlowdown]
    by_operation: list[OperationSlowdown]
    worst_ranks: list[Identifier]
    worst_ranks_share: Share | None
    last_stage_share: Share | None
