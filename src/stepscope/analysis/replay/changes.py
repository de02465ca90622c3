"""What may be changed in a replay, as a user writes it: ``'MatMul*0.5'``, ``'data=0'``, ``'rank:5=median'``.

::

    change  = subject ["@" ranks] ("*" factor | "=0" | "=" word)
    subject = data | sync | gc | compile | copies | layout | host | communication | unknown
            | rank:N | stage:N | link:N-N | name of an operator or kernel
    word    = median (of a rank) | overlapped (of communication) | next (of data)
    ranks   = numbers and ranges: 0,4-7

A name means operators and kernels of that name, else all whose name holds it, in whatever case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stepscope.errors import UsageError

#: What takes time and has no name of its own.
CATEGORIES: Final = ("data", "sync", "gc", "compile", "copies", "layout", "host", "communication", "unknown")
#: Subjects with a number, and words that take the place of a factor, with the subject that knows them.
PLACES: Final = ("rank", "stage", "link")
WORDS: Final = {"median": "rank", "overlapped": "communication", "next": "data"}
NAME: Final = "name"

_CHANGE: Final = re.compile(r"^(?P<subject>.+)(?P<sign>[*=])(?P<value>[^*=]+)$", re.DOTALL)
_AT_RANKS: Final = re.compile(r"@(\d[\d,\-]*)$")
_RANGE: Final = re.compile(r"^(\d+)(?:-(\d+))?$")
_PLACE: Final = re.compile(rf"^({'|'.join(PLACES)}):(.+)$")
_MOST_RANKS_OF_A_RANGE: Final = 1_000_000
#: Nothing that a run may turn into takes longer; beyond, nanoseconds of long steps do not fit into 64 bits.
_MOST_TIMES: Final = 1_000_000


@dataclass(frozen=True)
class Change:
    """Something that takes ``factor`` times as long, or becomes what ``word`` says. No ranks stand for all."""

    text: str
    subject: str  # a category, a place, or NAME
    which: str  # number of the place, or the name
    ranks: tuple[int, ...]
    factor: float
    word: str | None = None

    def concerns(self, rank: int) -> bool:
        """Whether it changes something on a rank."""
        return not self.ranks or rank in self.ranks


def parse_change(text: str) -> Change:
    """A change from its text.

    >>> parse_change("gc@0,2-3=0")
    Change(text='gc@0,2-3=0', subject='gc', which='', ranks=(0, 2, 3), factor=0.0, word=None)
    >>> parse_change("void add<float*>*0.5").which
    'void add<float*>'
    """
    parts = _CHANGE.match(text.strip())
    if parts is None:
        raise UsageError("bad_change", change=text)
    subject, value = parts["subject"].strip(), parts["value"].strip()
    at_ranks = _AT_RANKS.search(subject)
    ranks = _ranks(text, at_ranks[1]) if at_ranks else ()
    subject = subject[: at_ranks.start()].strip() if at_ranks else subject
    located = _PLACE.match(subject)
    if located is not None:
        kind, which = located[1], located[2].strip()
    else:
        kind, which = (subject, "") if subject in CATEGORIES else (NAME, subject)
    word = value if parts["sign"] == "=" and value in WORDS else None
    if word is not None and WORDS[word] != kind:
        raise UsageError("bad_change_word", change=text, word=word, subject=WORDS[word])
    factor = 0.0 if word is not None else _factor(text, parts["sign"], value)
    return Change(text.strip(), kind, which, ranks, factor, word)


def _factor(text: str, sign: str, value: str) -> float:
    try:
        factor = float(value)
    except ValueError:
        raise UsageError("bad_change", change=text) from None
    if not 0 <= factor <= _MOST_TIMES or (sign == "=" and factor != 0):
        raise UsageError("bad_change_factor", change=text)
    return factor


def _ranks(text: str, words: str) -> tuple[int, ...]:
    ranks: list[int] = []
    for word in words.split(","):
        bounds = _RANGE.match(word)
        if bounds is None:
            raise UsageError("bad_change", change=text)
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if last - first > _MOST_RANKS_OF_A_RANGE:
            raise UsageError("bad_change", change=text)
        ranks += range(first, last + 1)
    return tuple(ranks)
