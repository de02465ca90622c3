"""Results of a cluster analysis in the vendor's own columns, the same whether they come from text or database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from stepscope.readers.ascend import vendor_numbers as vendor
from stepscope.readers.ascend.identity import dimension

#: Times of a call, and their names in the text files.
TIMES: Final = {
    **vendor.TIME_COLUMNS,
    "wait_time_ratio": "Wait Time Ratio",
    "synchronization_time_ratio": "Synchronization Time Ratio",
}
BANDS: Final = (*vendor.BAND_COLUMNS, "package_size", *vendor.PACKET_COLUMNS)
COORDINATES: Final = {"dp": "DP Index", "pp": "PP Index", "tp": "TP Index"}

Schema = dict[str, Any]
_NAMES: Final[Schema] = {"rank": pl.Int64, **dict.fromkeys(vendor.NAMES, pl.String)}
_ENDS: Final[Schema] = {"src_rank": pl.Int64, "dst_rank": pl.Int64, "transport_type": pl.String}
TIME_TYPES: Final[Schema] = {**_NAMES, vendor.START: pl.String, **dict.fromkeys(TIMES, pl.Float64)}
BAND_TYPES: Final[Schema] = {**_NAMES, "transport_type": pl.String, **dict.fromkeys(BANDS, pl.Float64)}
LINK_TYPES: Final[Schema] = {**_NAMES, **_ENDS, **dict.fromkeys(vendor.LINK_COLUMNS, pl.Float64)}
STEP_TYPES: Final[Schema] = {
    **dict.fromkeys(("step", "type", "index"), pl.String),
    **dict.fromkeys(vendor.STEP_COLUMNS, pl.Float64),
    **dict.fromkeys(COORDINATES, pl.Int64),
}
_LARGEST_RANK: Final = (1 << 31) - 1


@dataclass
class Cluster:
    """All there is. ``source_of`` names the file of each frame; a step of no rank is one of a stage."""

    times: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TIME_TYPES))
    bands: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=BAND_TYPES))
    links: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LINK_TYPES))
    steps: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=STEP_TYPES))
    recipes: list[pl.DataFrame] = field(default_factory=list)  # rows of ``reported``
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    ranks: dict[int, dict[str, Any]] = field(default_factory=dict)  # host and device
    world_size: int | None = None
    source_of: dict[str, str] = field(default_factory=dict)

    def add_group(self, group: str, members: str | Sequence[Any], label: str | None = None) -> None:
        """A group; what says how the job calls it comes before what only lists its members."""
        numbers = re.findall(r"\d{1,9}", members) if isinstance(members, str) else members
        ranks = [int(rank) for rank in numbers if str(rank).isdecimal() and int(rank) <= _LARGEST_RANK]
        known = self.groups.get(group)
        if ranks and group and (known is None or (label and known["name"] is None)):
            kind = dimension(re.sub(r"[_\d]+$", "", label)) if label else None
            self.groups[group] = {"group": group, "name": label, "ranks": ranks, "dimension": kind}

    def steps_with_ranks(self) -> pl.DataFrame:
        """The steps with a column ``rank``, null for those of a stage."""
        number = pl.col("index").cast(pl.Int64, strict=False)
        return self.steps.with_columns(rank=pl.when(pl.col("type") == "rank").then(number))

    def known_ranks(self) -> list[int]:
        """Every rank that anything mentions, sorted."""
        ranks = set(self.ranks) | {rank for group in self.groups.values() for rank in group["ranks"]}
        columns = [self.times["rank"], self.bands["rank"], self.steps_with_ranks()["rank"]]
        for column in (*columns, self.links["src_rank"], self.links["dst_rank"]):
            ranks |= set(column.drop_nulls().unique().to_list())
        return sorted(rank for rank in ranks if 0 <= rank <= _LARGEST_RANK)
