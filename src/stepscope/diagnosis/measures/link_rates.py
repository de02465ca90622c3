"""How fast links are compared with others like them: as recorded, else by calls and transfers of two ranks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import polars as pl

from stepscope.facts.findings import finding_facts

if TYPE_CHECKING:
    from stepscope.diagnosis.context import RunContext

Name = TypeVar("Name", bound=Hashable)
#: Two ranks, the smaller number first.
Pair = tuple[int, int]
# A median absolute deviation is so much smaller than the standard deviation of a normal distribution.
_MAD_TO_DEVIATION: Final = 1.4826
# A median of many values of a normal distribution scatters by so much more than their mean.
_MEDIAN_TO_MEAN: Final = 1.2533
_OF_LINKS: Final = ("alike", "one", "other", "time", "whole", "bytes", "changing")


@dataclass(frozen=True)
class LinkRates:
    """Links and groups beside others like them: how many times slower the slow ones are, and which are as fast."""

    slow_links: dict[Pair, float]
    slow_groups: dict[str, float]
    sound_links: set[Pair]
    sound_groups: set[str]

    @classmethod
    def of(cls, run: RunContext) -> LinkRates:
        """Of all that move enough to tell."""
        rates, of_groups = pl.concat([_recorded(run), _of_pairs(run)]), _of_groups(run)
        slow_links, slow_groups = _slow_links(rates), _slow_groups(of_groups)
        links, groups = _comparable(rates), _comparable(of_groups)
        return cls(
            slow_links,
            slow_groups,
            {(one, other) for one, other in links.select("one", "other").iter_rows()} - slow_links.keys(),
            set(groups["group"]) - slow_groups.keys(),
        )


def _comparable(rates: pl.DataFrame) -> pl.DataFrame:
    """What has others like it and moves so much that its rate counts, and not its latency."""
    limits = finding_facts().slow_link
    return rates.filter((pl.len().over("alike") >= limits.least_alike) & (pl.col("bytes") >= limits.least_bytes))


def _slow_links(rates: pl.DataFrame) -> dict[Pair, float]:
    slow: dict[Pair, list[tuple[float, float]]] = {}
    busy: dict[Pair, float] = {}
    for _, alike in rates.group_by("alike", maintain_order=True):
        rows = {(one, other): (time, whole) for one, other, time, whole in alike.select(_OF_LINKS[1:5]).iter_rows()}
        changing = alike["changing"].median()
        ratios = slower_than_others(
            {pair: time for pair, (time, _) in rows.items()}, changing if isinstance(changing, float) else 0.0
        )
        for pair, (_, whole) in rows.items():
            busy[pair] = busy.get(pair, 0.0) + whole
            if pair in ratios:
                slow.setdefault(pair, []).append((ratios[pair], whole))
    # A link that is slow is slow for all that goes over it; what is tiny takes as long on any link.
    most = finding_facts().slow_link.least_share_of_time
    return {
        pair: max(each, key=lambda ratio_and_time: ratio_and_time[1])[0]
        for pair, each in slow.items()
        if sum(whole for _, whole in each) >= most * busy[pair]
    }


def _slow_groups(rates: pl.DataFrame) -> dict[str, float]:
    slow: dict[str, list[float]] = {}
    for _, own in rates.group_by("alike", maintain_order=True):
        for group, ratio in slower_than_others(dict(own.select("group", "time").iter_rows())).items():
            slow.setdefault(group, []).append(ratio)
    return {group: statistics.median(ratios) for group, ratios in slow.items()}


def _of_groups(run: RunContext) -> pl.DataFrame:
    """Nanoseconds per byte of groups of more than two ranks; none where links were recorded, which tell more."""
    host = pl.col("rank").replace_strict(run.host_of, default=None, return_dtype=pl.String)
    wanted = pl.col("complete") & pl.col("peer").is_null() & (pl.col("members") > 2)
    wanted &= pl.col("bytes") >= finding_facts().slow_link.least_bytes
    if run.links_recorded:
        wanted = pl.lit(value=False)
    what, alike = ["dimension", "kind", "members", "group"], ["dimension", "kind", "members", "hosts"]
    sums = run.calls.per_rank(
        lambda calls: calls.filter(wanted).group_by("rank", *what).agg(pl.col("transfer_ns", "bytes").sum(), pl.len())
    )
    rows = (
        sums.with_columns(hosts=host.n_unique().over("group"))
        .group_by(*alike, "group")
        .agg(
            time=pl.col("transfer_ns").sum() / pl.col("bytes").sum(),
            bytes=pl.col("bytes").sum() / pl.col("len").sum(),
        )
        .sort(*alike, "group")
    )
    return rows.select("group", "time", "bytes", alike=pl.struct(alike))


def slower_than_others(times: Mapping[Name, float], changing: float = 0.0) -> dict[Name, float]:
    """Those that take longer than usual, by more than the usual differ, with how many times.

    ``changing`` is by how much each may be off because its calls differ among themselves, as a logarithm.

    >>> slower_than_others({"a": 1.0, "b": 1.1, "c": 0.9, "d": 4.0})
    {'d': 4.0}
    >>> slower_than_others({"a": 1.0, "b": 1.1, "c": 0.9, "d": 4.0}, changing=0.5)
    {}
    """
    limits = finding_facts().slow_link
    known = {name: time for name, time in times.items() if time > 0}
    if len(known) < limits.least_alike:
        return {}
    usual = statistics.median_low(known.values())
    logs = [math.log(time / usual) for time in known.values()]
    noise = max(_MAD_TO_DEVIATION * statistics.median(map(abs, logs)), changing)
    least = max(math.log(limits.least_ratio), limits.least_noise_multiple * noise)
    return {name: time / usual for name, time in known.items() if math.log(time / usual) >= least}


def _recorded(run: RunContext) -> pl.DataFrame:
    """Nanoseconds per byte of each recorded link, by transport and what goes over it."""
    moved = pl.col("kind").cast(pl.String).is_in(["payload", "reduce"]) & pl.col("step").is_not_null()
    other_rank = pl.col("peer").is_not_null() & (pl.col("peer") != pl.col("rank"))
    groups = run.store.scan("groups").select(pl.col("group", "dimension").cast(pl.String)).unique("group")
    rows = (
        run.store.scan("transfers")
        .filter(moved & other_rank & (pl.col("bytes") > 0) & (pl.col("time_ns") > 0))
        .with_columns(pl.col("group").cast(pl.String))
        .join(groups, on="group", how="left")
    )
    alike = pl.format("{} {}", pl.col("transport").cast(pl.String).fill_null(""), pl.col("dimension").fill_null(""))
    return (
        rows.group_by(alike.alias("alike"), *_ends("rank", "peer"))
        .agg(
            time=pl.col("time_ns").sum() / pl.col("bytes").sum(),
            whole=pl.col("time_ns").sum().cast(pl.Float64),
            bytes=pl.col("bytes").mean(),
            changing=pl.lit(0.0),
        )
        .select(_OF_LINKS)
        .sort("alike", "one", "other")
        .collect()
    )


def _of_pairs(run: RunContext) -> pl.DataFrame:
    """The median transfer of calls and transfers of two ranks, by size, and whether they are on one host."""
    host = pl.col("member", "partner").replace_strict(run.host_of, default=None, return_dtype=pl.String)
    what = [pl.col(name).cast(pl.String).fill_null("") for name in ("dimension", "near", "bytes")]
    ends = _ends("member", "partner")

    def of_links(calls: pl.DataFrame) -> pl.DataFrame:
        with_hosts = calls.with_columns(host.name.suffix("_host"))
        near = with_hosts.with_columns(near=pl.col("member_host") == pl.col("partner_host"))
        return near.group_by(pl.concat_str(what, separator=" ").alias("alike"), *ends).agg(
            time=pl.col("transfer_ns").median(),
            whole=pl.col("transfer_ns").sum().cast(pl.Float64),
            bytes=pl.col("bytes").mean(),
            changing=_error_of_median(pl.col("transfer_ns").filter(pl.col("transfer_ns") > 0).log()),
        )

    return run.calls.between_two(of_links).select(_OF_LINKS).sort("alike", "one", "other")


def _error_of_median(values: pl.Expr) -> pl.Expr:
    """Standard error of the median of values: between processes of a busy host, transfers vary manifold."""
    deviation = _MAD_TO_DEVIATION * (values - values.median()).abs().median()
    return (_MEDIAN_TO_MEAN * deviation / values.count().sqrt()).fill_null(0.0)


def _ends(rank: str, peer: str) -> list[pl.Expr]:
    return [
        pl.min_horizontal(rank, peer).cast(pl.Int64).alias("one"),
        pl.max_horizontal(rank, peer).cast(pl.Int64).alias("other"),
    ]
