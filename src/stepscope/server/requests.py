"""The bodies of requests, checked before they reach an analysis."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from stepscope.analysis.timeline.flows import MOST_FLOWS
from stepscope.analysis.timeline.tiles import MOST_LEVEL

#: Moments since the run's origin that JSON carries exactly.
Moment = Annotated[int, Field(ge=-(1 << 53), le=1 << 53)]
Rank = Annotated[int, Field(ge=0, lt=1 << 31)]
SliceNumber = Annotated[int, Field(ge=0, lt=1 << 32)]
RowNumber = Annotated[int, Field(ge=0, lt=1 << 31)]
Level = Annotated[int, Field(ge=0, le=MOST_LEVEL, description="a bin is 2^level ns")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TileRequest(_Body):
    rank: Rank
    block: Annotated[int, Field(ge=-1, lt=1 << 27, description="16 rows; -1 for the merged lanes")]
    level: Level
    index: Moment


class TilesRequest(_Body):
    tiles: Annotated[list[TileRequest], Field(min_length=1, max_length=512)]


class CounterRequest(_Body):
    rank: Rank
    track: Annotated[int, Field(ge=0, lt=1 << 31)]
    level: Level
    index: Moment


class CountersRequest(_Body):
    tiles: Annotated[list[CounterRequest], Field(min_length=1, max_length=512)]


class RowsRequest(_Body):
    """Rows of a rank; all of them where neither end is said."""

    rank: Rank
    first_row: RowNumber | None = None
    last_row: RowNumber | None = None
    shift_ns: Annotated[
        int, Field(ge=-(1 << 53), le=1 << 53, description="how far the page shows the rank from the run's clock")
    ] = 0


Rows = Annotated[list[RowsRequest], Field(min_length=1, max_length=4096)]


class StatsRequest(_Body):
    from_ns: Moment
    to_ns: Moment
    rows: Rows
    by: Literal["name", "kind", "track"] = "name"
    limit: Annotated[int, Field(ge=1, le=10_000)] = 500
    gaps_over_ns: Annotated[int, Field(ge=0, le=1 << 53)] | None = None
    gaps_limit: Annotated[int, Field(ge=0, le=1_000)] = 100


class FlameRequest(_Body):
    from_ns: Moment
    to_ns: Moment
    rows: Rows
    limit: Annotated[int, Field(ge=1, le=10_000)] = 2_000


class SliceRequest(_Body):
    rank: Rank
    slice: SliceNumber


class FlowsRequest(_Body):
    """Links of some slices, or of a window of some rows."""

    slices: Annotated[list[SliceRequest], Field(max_length=1_000)] | None = None
    from_ns: Moment | None = None
    to_ns: Moment | None = None
    rows: Rows | None = None
    kinds: Annotated[list[str], Field(max_length=32)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_FLOWS)] = MOST_FLOWS
    bins: Annotated[int, Field(ge=1, le=8_192)] = 1_000


class SlicesRequest(_Body):
    slices: Annotated[list[SliceRequest], Field(min_length=1, max_length=20_000)]


class SqlRequest(_Body):
    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    limit: Annotated[int, Field(ge=1, le=100_000)] = 10_000


class OpenRequest(_Body):
    path: Annotated[str, Field(min_length=1, max_length=4_096)]
    window: Annotated[str, Field(max_length=4_096)] | None = None


SavedName = Annotated[str, Field(min_length=1, max_length=200)]


class LabelRequest(_Body):
    name: Annotated[str, Field(max_length=200)] | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=60)]], Field(max_length=32)] = []


class QueryToSave(_Body):
    name: SavedName
    query: Annotated[str, Field(min_length=1, max_length=100_000)]


class ViewToSave(_Body):
    name: SavedName
    page: Annotated[str, Field(min_length=1, max_length=60)]
    params: Annotated[dict[str, Annotated[str, Field(max_length=100_000)]], Field(max_length=64)]


class PlanRequest(_Body):
    """Sizes such as ``tp=8,pp=4`` (``auto`` forgets what was given), or the ranks of each group by dimension."""

    parallel: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    groups: Annotated[dict[str, list[list[Rank]]], Field(max_length=16)] | None = None
