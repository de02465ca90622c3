"""Which captures of several ranks were recorded at the same time, where each rank was captured more than once."""

from __future__ import annotations

import datetime
import itertools
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from stepscope.readers.discovery.source import Source

_NUMBER: Final = re.compile(r"\d+")
_DATE: Final = re.compile(r"(20\d{12})(\d{0,6})")


def together(sources: list[Source], root: Path) -> tuple[list[list[Source]], bool]:
    """Sources that have a rank, in groups that hold each rank at most once; and whether the groups are only a guess.

    What names say comes first: ``rank0_step10`` belongs to ``rank1_step10``. Else the first captures of all ranks
    belong together, then the second ones. Where a rank lacks one, the times in the names decide; without times,
    captures are put together from the newest backwards.
    """
    of_rank: dict[int, list[Source]] = defaultdict(list)
    for source in sorted(sources, key=lambda source: (_when(source), natural(str(source.path)))):
        of_rank[source.rank or 0].append(source)
    counts = {len(members) for members in of_rank.values()}
    if counts == {1} or len(of_rank) == 1:
        return _transposed(list(of_rank.values())), False
    if by_name := _by_name(sources, root):
        return by_name, False
    if len(counts) == 1:
        return _transposed(list(of_rank.values())), False
    if all(source.span is not None for source in sources):
        return _by_time(of_rank), False
    return _transposed([members[::-1] for members in of_rank.values()])[::-1], True


def natural(name: str) -> list[str | int]:
    """Sorts ``step10`` behind ``step9``.

    >>> sorted(["step10", "step9"], key=natural)
    ['step9', 'step10']
    """
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def moment(span: int) -> int:
    """A timestamp of a name on a straight scale: dates written as digits jump at each full minute.

    >>> moment(20250109080000100) - moment(20250109075959900)  # microseconds
    200000
    """
    found = _DATE.fullmatch(str(span))
    if not found:
        return span
    try:
        date = datetime.datetime.strptime(found[1] + "+0000", "%Y%m%d%H%M%S%z")
    except ValueError:
        return span
    return int(date.timestamp()) * 10**6 + int(found[2].ljust(6, "0"))


def _transposed(ranks: list[list[Source]]) -> list[list[Source]]:
    """The first of each rank, the second of each, and so on."""
    layers = itertools.zip_longest(*ranks)
    return [[source for source in layer if source is not None] for layer in layers]


def _by_name(sources: list[Source], root: Path) -> list[list[Source]]:
    """Groups whose paths differ only in the number that is the rank; none if the paths do not tell."""
    places = [_place(source, root) for source in sources]
    for which in range(min(len(_NUMBER.findall(place)) for place in places)):
        groups: dict[str, dict[int, Source]] = defaultdict(dict)
        for source, place in zip(sources, places, strict=True):
            number = list(_NUMBER.finditer(place))[which]
            if int(number[0]) != source.rank:
                break
            groups[place[: number.start()] + "#" + place[number.end() :]][source.rank] = source
        else:
            once = sum(map(len, groups.values())) == len(sources)
            if once and any(len(group) > 1 for group in groups.values()):
                return [[group[rank] for rank in sorted(group)] for _, group in sorted(groups.items(), key=_naturally)]
    return []


def _naturally(item: tuple[str, dict[int, Source]]) -> list[str | int]:
    return natural(item[0])


def _place(source: Source, root: Path) -> str:
    """The part of the path that may say what belongs together; names with a time in them are unlike anyway."""
    path = source.path if source.span is None else source.path.parent
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _by_time(of_rank: dict[int, list[Source]]) -> list[list[Source]]:
    """Groups within half of the shortest time that passed between two captures of one rank."""
    apart = min(_when(b) - _when(a) for members in of_rank.values() for a, b in itertools.pairwise(members))
    groups: list[dict[int, Source]] = []
    for source in sorted(itertools.chain(*of_rank.values()), key=_when):
        begun = min(map(_when, groups[-1].values())) if groups else 0
        if not groups or source.rank in groups[-1] or 2 * (_when(source) - begun) > apart:
            groups.append({})
        groups[-1][source.rank or 0] = source
    return [[group[rank] for rank in sorted(group)] for group in groups]


def _when(source: Source) -> int:
    return moment(source.span or 0)
