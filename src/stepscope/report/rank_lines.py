"""What a command says of each rank: of the first few, so that a large job does not fill the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol, TypeVar

from stepscope.report.console import Console
from stepscope.texts import text

MOST_RANKS: Final = 8


class OfRank(Protocol):
    """An entry of an answer."""

    @property
    def rank(self) -> int: ...


Entry = TypeVar("Entry", bound=OfRank)


def of_first_ranks(entries: Sequence[Entry], console: Console, lang: str) -> Iterator[Entry]:
    """The entries of the first ranks; when they have been shown, how many other ranks there are."""
    ranks = list(dict.fromkeys(entry.rank for entry in entries))
    first = set(ranks[:MOST_RANKS])
    yield from (entry for entry in entries if entry.rank in first)
    if len(ranks) > len(first):
        line = text("report.more_ranks", lang, count=len(ranks) - len(first))
        console.print(line, markup=False, soft_wrap=True)
