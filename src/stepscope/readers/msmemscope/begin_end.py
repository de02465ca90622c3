"""Pairs of START and END rows, which carry no id: an END belongs to the latest START of its name on its track."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

_DEEPEST_SEARCH: Final = 64


@dataclass
class Pairs:
    """Positions of begins with their end times; open ones have none."""

    begin: list[int] = field(default_factory=list)
    end_ns: list[int | None] = field(default_factory=list)
    unmatched: int = 0  # ends without a begin
    open: int = 0  # begins without an end


def pair(group: Sequence[Hashable], begins: Sequence[bool], name: Sequence[str], time: Sequence[int]) -> Pairs:
    """All rows in order. An END without a name closes whatever was opened last.

    >>> pair(["a"] * 4, [True, True, False, False], ["x", "y", "y", ""], [1, 2, 3, 4])
    Pairs(begin=[1, 0], end_ns=[3, 4], unmatched=0, open=0)
    """
    pairs = Pairs()
    waiting: dict[Hashable, list[int]] = {}
    for row, (key, is_begin, word, moment) in enumerate(zip(group, begins, name, time, strict=True)):
        stack = waiting.setdefault(key, [])
        if is_begin:
            stack.append(row)
            continue
        depth = next(
            (
                depth
                for depth in range(1, min(len(stack), _DEEPEST_SEARCH) + 1)
                if not word or name[stack[-depth]] == word
            ),
            0,
        )
        if not depth:
            pairs.unmatched += 1
            continue
        for inner in stack[-1 : -depth - 1 : -1]:  # what was opened inside has ended too, unseen
            pairs.begin.append(inner)
            pairs.end_ns.append(moment)
        pairs.open += depth - 1
        del stack[-depth:]
    for stack in waiting.values():
        pairs.begin += stack
        pairs.end_ns += [None] * len(stack)
        pairs.open += len(stack)
    return pairs
