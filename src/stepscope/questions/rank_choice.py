"""Which ranks a choice means: ``0-7,317``, ``dp:3``, ``host:a``, ``slow:8``, ``all``, and lists of these.

The page reads its addresses by the same rules (``web/src/router/scope.ts``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stepscope.errors import UsageError
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges

if TYPE_CHECKING:
    from stepscope.analysis.cluster.plan import ParallelPlan
    from stepscope.analysis.cluster.rank_rows import RankRow

_DIMENSIONS: Final = ("dp", "tp", "pp", "ep", "cp")
_NUMBERS: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_NAMED: Final = re.compile(rf"(?:{'|'.join(_DIMENSIONS)}|slow):\d{{1,9}}|host:.+", re.ASCII)
_MOST_HOSTS: Final = 4


def pieces_of(choice: Sequence[str]) -> list[str]:
    """The pieces of a choice; an error for one that no run could know.

    >>> pieces_of(["0-7, 317", "dp:3"])
    ['0-7', '317', 'dp:3']
    """
    pieces = [piece.strip() for each in choice for piece in each.split(",")]
    for piece in pieces:
        if piece != "all" and not _NUMBERS.fullmatch(piece) and not _NAMED.fullmatch(piece):
            raise UsageError("unreadable_ranks", choice=piece)
    return pieces


def chosen_ranks(store: RunStore, choice: Sequence[str]) -> list[int]:
    """The ranks of this run that are meant, each once, in the order written; an error for a piece that means none."""
    chosen: dict[int, None] = {}
    for piece in pieces_of(choice):
        meant = _ranks(store, piece)
        if not meant and _NUMBERS.fullmatch(piece):
            raise UsageError("no_such_rank", rank=piece, ranks=ranges(store.ranks))
        if not meant:
            raise UsageError("no_rank_of_choice", choice=piece, choices=_choices(store))
        chosen |= dict.fromkeys(meant)
    return list(chosen)


def lateness_us(row: RankRow) -> float | None:
    """How far a rank comes behind the others; without common calls, how long it computes."""
    return next((time for time in (row.delay_us, row.computing_us, row.period_us) if time is not None), None)


def _ranks(store: RunStore, piece: str) -> list[int]:
    if piece == "all":
        return store.ranks
    if numbers := _NUMBERS.fullmatch(piece):
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        return [rank for rank in store.ranks if first <= rank <= last]
    name, _, value = piece.partition(":")
    if name == "slow":
        return _slowest(store)[: int(value)]
    plan = _plan(store)
    return plan.hosts.get(value, []) if name == "host" else plan.lines(name).get(int(value), [])


def _plan(store: RunStore) -> ParallelPlan:
    from stepscope.analysis.cluster.plan import plan_of  # most choices are numbers, which need none

    return plan_of(store)


def _slowest(store: RunStore) -> list[int]:
    from stepscope.analysis.cluster.job import job_of

    known = [(late, row.rank) for row in job_of(store).ranks if (late := lateness_us(row)) is not None]
    return [rank for late, rank in sorted(known, key=lambda each: (-each[0], each[1]))]


def _choices(store: RunStore) -> str:
    """What would mean some rank: numbers, coordinates and hosts."""
    plan = _plan(store)
    lines = [f"{name}:{min(each)}…{max(each)}" for name in _DIMENSIONS if len(each := plan.lines(name)) > 1]
    hosts = [f"host:{name}" for name in plan.hosts]
    more = ["…"] if len(hosts) > _MOST_HOSTS else []
    return ", ".join([ranges(store.ranks), *lines, *hosts[:_MOST_HOSTS], *more])
