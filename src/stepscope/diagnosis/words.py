"""Numbers and names as they stand in sentences of findings."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.diagnosis.finding import Bilingual

_MOST_NAMED = 8
_BOTH = 2
_LONG_US = 10_000_000


def duration(time_us: float | None) -> str:
    """A time with the unit that suits it.

    >>> duration(12_345_678.9), duration(12_345.6), duration(87.31), duration(None)
    ('12.3 s', '12.3 ms', '87.3 us', '?')
    """
    if time_us is None:
        return "?"
    if time_us >= _LONG_US:
        return f"{time_us / 1e6:,.1f} s"
    return f"{time_us / 1000:,.1f} ms" if time_us >= 1000 else f"{time_us:,.1f} us"


def percent(share: float | None) -> str:
    """A share as a number of percent.

    >>> percent(0.1234), percent(None)
    ('12.3', '?')
    """
    return "?" if share is None else f"{100 * share:.1f}"


def rank_names(ranks: Sequence[int], captured: Sequence[int]) -> Bilingual:
    """Which ranks, for a sentence.

    >>> rank_names([2], [0, 1, 2]).en, rank_names([0, 2], [0, 1, 2]).en, rank_names([0, 1, 2], [0, 1, 2]).en
    ('rank 2', 'ranks 0, 2', 'all 3 ranks')
    """
    if len(ranks) == 1:
        return Bilingual(f"rank {ranks[0]}", f"rank {ranks[0]}")
    if len(ranks) == len(captured) == _BOTH:
        return Bilingual.of("finding_ranks.both")
    if len(ranks) == len(captured):
        return Bilingual.of("finding_ranks.every", count=len(ranks))
    if len(ranks) > _MOST_NAMED:
        named = ", ".join(map(str, ranks[:_MOST_NAMED]))
        return Bilingual.of("finding_ranks.many", ranks=named, count=len(ranks))
    numbers = list(map(str, ranks))
    return Bilingual(f"ranks {', '.join(numbers)}", f"rank {'、'.join(numbers)}")


def byte_size(size: float | None) -> str:
    """A size with the unit that suits it.

    >>> byte_size(3 << 20), byte_size(8 << 40), byte_size(512), byte_size(None)
    ('3.00 MiB', '8.00 TiB', '512 B', '?')
    """
    if size is None:
        return "?"
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if abs(size) >= unit:
            return f"{size / unit:.2f} {name}"
    return f"{size:.0f} B"
