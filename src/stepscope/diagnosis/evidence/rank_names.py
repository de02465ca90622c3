"""Names as they appear in sentences of findings."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.diagnosis.finding import Bilingual
from stepscope.texts.numbers import spans

_MOST_NAMED = 8
_BOTH = 2


def rank_names(ranks: Sequence[int], captured: Sequence[int]) -> Bilingual:
    """Which ranks, for a sentence.

    >>> rank_names([2], [0, 1, 2]).en, rank_names([0, 2], [0, 1, 2]).en, rank_names([0, 1, 2], [0, 1, 2]).en
    ('rank 2', 'ranks 0, 2', 'all 3 ranks')
    >>> rank_names([*range(8), 20], range(64)).zh, rank_names(range(0, 40, 2), range(64)).en
    ('rank 0-7、20', '20 ranks (0, 2, 4, 6, 8, 10, 12, 14, …)')
    """
    if len(ranks) == 1:
        return Bilingual(f"rank {ranks[0]}", f"rank {ranks[0]}")
    if len(ranks) == len(captured) == _BOTH:
        return Bilingual.of("finding_ranks.both")
    if len(ranks) == len(captured):
        return Bilingual.of("finding_ranks.every", count=len(ranks))
    pieces = spans(ranks)
    numbers = Bilingual(*(between.join(pieces[:_MOST_NAMED]) for between in (", ", "、")))
    if len(pieces) > _MOST_NAMED:
        return Bilingual.of("finding_ranks.many", ranks=numbers, count=len(ranks))
    return Bilingual(f"ranks {numbers.en}", f"rank {numbers.zh}")


def waiting_ranks(ranks: Sequence[int], captured: Sequence[int], accused: int = 1) -> Bilingual:
    """Ranks with their verb, where as many as the last number are accused: rank 1 waits, ranks 1 and 2 wait.

    >>> waiting_ranks([0], [0, 1]).en, waiting_ranks([0, 1], [0, 1, 2]).en
    ('rank 0 waits', 'ranks 0, 1 wait')
    >>> waiting_ranks([0, *range(2, 64)], range(64)).en, waiting_ranks([0, 1, *range(3, 33), 34], range(64)).en
    ('all 63 other ranks wait', 'ranks 0, 1, 3-32, 34 wait')
    >>> waiting_ranks([0, 1, *range(3, 34), *range(35, 64)], range(64), accused=2).zh
    '其余 62 个 rank 在等待'
    """
    if len(ranks) == len(captured) - accused > _MOST_NAMED:
        others = Bilingual.of("finding_ranks.others", count=len(ranks))
        return Bilingual.of("finding_ranks.several_wait", ranks=others)
    key = "finding_ranks.one_waits" if len(ranks) == 1 else "finding_ranks.several_wait"
    return Bilingual.of(key, ranks=rank_names(ranks, captured))
