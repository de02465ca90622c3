"""Which captures of several ranks were recorded at the same time, where each rank was captured more than once."""

from __future__ import annotations

import datetime
import itertools
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from stepscope.facts.windows import windows_facts
from stepscope.readers.discovery.recorded_when import Recorded, recorded_when
from stepscope.readers.discovery.source import Source

_NUMBER: Final = re.compile(r"\d+")
_HOST_AND_PROCESS: Final = re.compile(r"._\d+$")  # as PyTorch calls a worker
_LEAST_EPOCH_S: Final = 10**9  # 2001; smaller numbers in names count something else
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


def simultaneous(sources: list[Source]) -> list[list[Source]] | None:
    """Sources without a rank in groups that are the ranks of one window: recorded at the same time by different
    processes. None where the content of one does not tell when it was recorded.
    """
    recorded = {source.path: recorded_when(source) for source in sources}
    spans = {path: (own.began_ns, own.ended_ns) for path, own in recorded.items() if own.began_ns and own.ended_ns}
    if len(spans) < len(recorded):
        return None
    tolerance = windows_facts().apart_after_ms * 10**6
    groups: list[list[Source]] = []
    for source in sorted(sources, key=lambda each: (spans[each.path], str(each.path))):
        began = spans[source.path][0]
        for group in groups:
            overlaps = began < min(spans[each.path][1] for each in group) + tolerance
            if overlaps and not any(_one_process(source, each, recorded) for each in group):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def _one_process(one: Source, other: Source, recorded: dict[Path, Recorded]) -> bool:
    """Whether one process wrote both. Containers count processes alike, so its number needs the name of the host."""
    if one.worker == other.worker and one.worker is not None:
        return True
    mine, its = recorded[one.path], recorded[other.path]
    return mine.process is not None and mine.host is not None and (mine.process, mine.host) == (its.process, its.host)


def processes(sources: list[Source]) -> dict[Path, str]:
    """Who wrote each source, where nothing tells when: the process by name or content, else the worker."""
    recorded = {source.path: recorded_when(source) for source in sources}
    names_tell = all(_HOST_AND_PROCESS.search(source.worker or "") for source in sources)
    if not names_tell and all(own.process is not None for own in recorded.values()):
        return {path: f"{own.host} {own.process}" for path, own in recorded.items()}
    return {source.path: source.worker or "" for source in sources}


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
    match = _DATE.fullmatch(str(span))
    if not match:
        return span
    try:
        date = datetime.datetime.strptime(match[1] + "+0000", "%Y%m%d%H%M%S%z")
    except ValueError:
        return span
    return int(date.timestamp()) * 10**6 + int(match[2].ljust(6, "0"))


def _transposed(ranks: list[list[Source]]) -> list[list[Source]]:
    """The first of each rank, the second of each, and so on."""
    layers = itertools.zip_longest(*ranks)
    return [[source for source in layer if source is not None] for layer in layers]


def _by_name(sources: list[Source], root: Path) -> list[list[Source]]:
    """Groups whose paths differ only in the number that is the rank; none if the paths do not tell."""
    paths = [_telling_path(source, root) for source in sources]
    for which in range(min(len(_NUMBER.findall(path)) for path in paths)):
        groups: dict[str, dict[int, Source]] = defaultdict(dict)
        for source, path in zip(sources, paths, strict=True):
            number = list(_NUMBER.finditer(path))[which]
            if int(number[0]) != source.rank:
                break
            groups[path[: number.start()] + "#" + path[number.end() :]][source.rank] = source
        else:
            once = sum(map(len, groups.values())) == len(sources)
            if once and any(len(group) > 1 for group in groups.values()):
                return [[group[rank] for rank in sorted(group)] for _, group in sorted(groups.items(), key=_naturally)]
    return []


def _naturally(item: tuple[str, dict[int, Source]]) -> list[str | int]:
    return natural(item[0])


def _telling_path(source: Source, root: Path) -> str:
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


def recorded_ns(source: Source, recorded: Recorded) -> int:
    """When a source was recorded, in nanoseconds since 1970, by its content, else by its name; 0 if neither tells."""
    if recorded.began_ns is not None:
        return recorded.began_ns
    named = _when(source)
    return named * 1000 ** max(0, (19 - len(str(named))) // 3) if named >= _LEAST_EPOCH_S else 0
