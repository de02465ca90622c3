"""``slow_link``: a link between two ranks is slower than others like it, or all of one network card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.costs import exposed_transfers
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rank_names import waiting_ranks
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.link_rates import LinkRates, Pair
from stepscope.diagnosis.rule import Rule

#: A card that is seen on a single link to another host looks like that link.
_UNDECIDED: Final = "link_or_card"


@dataclass(frozen=True)
class _Slow:
    """A place that is slow, and how many times slower than usual."""

    ranks: list[int]
    ratio: float
    cause: str
    where: Where
    title: str
    advice: str


def judge(run: RunContext) -> list[Finding]:
    """One finding per link, card, or group in which a link must be slow."""
    losses = [loss for slow in _places(run) for loss in _losses(run, slow)]
    return findings_of(run, "slow_link", losses, Next(("communication", "summary"), "communication"))


def _places(run: RunContext) -> list[_Slow]:
    rates = LinkRates.of(run)
    links, groups = rates.slow_links, rates.slow_groups
    members = {group: run.group_ranks.get(group, []) for group in groups}
    ends = Counter(rank for link in links for rank in link)
    ends.update({rank: 1 for ranks in members.values() for rank in ranks if rank in ends})
    # A rank that several slow links have in common has a slow card.
    cards = {rank for rank, count in ends.items() if count > 1}
    cards -= {rank for rank in cards if any(ends[other] > ends[rank] for other in _partners(rank, links))}
    places = [_card(rank, links) for rank in sorted(cards)]
    sound = _sound_cards(run, rates)
    places += [
        _link(link, ratio, certain=_on_one_host(run, link) or set(link) <= sound)
        for link, ratio in links.items()
        if not cards & set(link)
    ]
    known = {rank for place in places for rank in place.ranks}
    return places + [
        _group(group, members[group], ratio, certain=_on_one_host(run, members[group]) or set(members[group]) <= sound)
        for group, ratio in groups.items()
        if not known & set(members[group])
    ]


def _sound_cards(run: RunContext, rates: LinkRates) -> set[int]:
    """Ranks that are as fast as others over some other link to another host: their network card is sound."""
    between = [*rates.sound_links, *(run.group_ranks.get(group, ()) for group in rates.sound_groups)]
    return {rank for ranks in between if not _on_one_host(run, ranks) for rank in ranks}


def _on_one_host(run: RunContext, ranks: Sequence[int]) -> bool:
    """Whether no network card is between them; where hosts are not known there may be one."""
    hosts = {run.host_of.get(rank) for rank in ranks}
    return len(hosts) == 1 and None not in hosts


def _partners(rank: int, links: dict[Pair, float]) -> set[int]:
    return {end for link in links if rank in link for end in link} - {rank}


def _link(link: Pair, ratio: float, *, certain: bool) -> _Slow:
    where, key = Where(link=f"{link[0]}-{link[1]}"), "slow_link" if certain else "slow_link_or_card"
    cause = "link" if certain else _UNDECIDED
    return _Slow(list(link), ratio, cause, where, f"finding_title.{key}", f"finding_advice.{key}")


def _card(rank: int, links: dict[Pair, float]) -> _Slow:
    ratio = min(ratio for link, ratio in links.items() if rank in link)
    return _Slow(
        [rank], ratio, "card", Where(device=f"rank {rank}"), "finding_title.slow_card", "finding_advice.slow_card"
    )


def _group(group: str, ranks: list[int], ratio: float, *, certain: bool) -> _Slow:
    where, key = Where(group=group), "slow_group_link"
    cause = "link" if certain else _UNDECIDED
    return _Slow(ranks, ratio, cause, where, f"finding_title.{key}", f"finding_advice.{key}")


def _losses(run: RunContext, slow: _Slow) -> list[Loss]:
    gain, period = _gain(run, slow)
    if not worth_telling(gain / period):
        return []
    waiting = [rank for rank in run.ranks if rank not in slow.ranks]
    return [
        Loss(
            rank=rank,
            cause=slow.cause,
            title=slow.title,
            advice=slow.advice,
            gain_us=gain,
            gain_share=gain / period,
            gain_method="link_as_others",
            where=slow.where,
            words={
                "one": slow.ranks[0],
                "other": slow.ranks[-1],
                "times": f"{slow.ratio:.1f}",
                "group": slow.where.group or "",
                "waiting": waiting_ranks(waiting, run.ranks, len(slow.ranks)),
            },
            evidence=[number("call_transfer", slow.ratio, "ratio", 1.0, "communication")],
            proof=[Proof(rank=rank, page="communication")],
        )
        for rank in slow.ranks
    ]


def _gain(run: RunContext, slow: _Slow) -> tuple[float, float]:
    """What the calls that go over it would take less, as far as they are exposed.

    A call of a group begins when its last member comes, so what that one hides behind its computing would gain nobody
    anything: the member with least of it counts, in the group that loses most. Where there are transfers of pairs, too,
    it is the rank that loses most.
    """
    if slow.where.group is not None:
        over = pl.col("group") == slow.where.group
    else:
        together = [group for group, ranks in run.group_ranks.items() if set(slow.ranks) <= set(ranks)]
        pair = pl.col("rank").is_in(slow.ranks) & pl.col("peer").is_in(
            run.ranks if slow.cause == "card" else slow.ranks
        )
        over = pl.when(pl.col("peer").is_not_null()).then(pair).otherwise(pl.col("group").is_in(together))
    chosen = run.calls.per_rank(lambda calls: calls.filter(over))
    if chosen["peer"].is_not_null().any():
        saved = _saved(run, chosen, slow.ratio)
        return max(((us, run.times[rank].period_us) for rank, us in saved.items()), default=(0.0, 1.0))
    of_groups = [_saved(run, own, slow.ratio) for _, own in chosen.group_by("group", maintain_order=True)]
    least = [min((us, run.times[rank].period_us) for rank, us in saved.items()) for saved in of_groups if saved]
    return max(least, default=(0.0, 1.0))


def _saved(run: RunContext, calls: pl.DataFrame, ratio: float) -> dict[int, float]:
    """Microseconds per step, by rank, that exposed calls would take less at the usual rate."""
    less = pl.col("transfer_ns") * (1 - 1 / ratio)
    saved = dict(calls.group_by("rank").agg(less.sum() / 1000).iter_rows())
    exposed = exposed_transfers(run.store, calls).group_by("rank").agg(pl.col("exposed_ns").sum() / 1000)
    return {rank: min(saved[rank], us) / len(run.times[rank].steps) for rank, us in exposed.iter_rows()}


RULE = Rule(kinds=("slow_link",), needs=("other_ranks",), judge=judge)
