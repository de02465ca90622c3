"""Which collective a name means, of whatever library."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from stepscope.facts.communication import communication_facts

_ANONYMOUS: Final = "(anonymous namespace)::"
_BEHIND_THE_NAME: Final = re.compile(r"[<(]")  # of templates and arguments
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MOST_WORDS: Final = 40  # a hostile name has any number


@lru_cache(4096)
def collective_kind(name: str) -> str:
    """Our word for a collective, from an argument, an annotation or a kernel's name.

    >>> [collective_kind(name) for name in ("_allgather_base", "gloo:all_reduce", "ncclDevKernel_SendRecv(int)")]
    ['all_gather', 'all_reduce', 'send_receive']
    """
    function = _BEHIND_THE_NAME.split(name.replace(_ANONYMOUS, ""), maxsplit=1)[0]
    for pattern, kind in communication_facts().kernel_kinds.items():
        if re.search(pattern, function):
            return kind
    known = {key.replace("_", ""): kind for key, kind in communication_facts().kinds.items()}
    words = [word.lower() for word in _WORD.findall(function.rsplit(":", maxsplit=1)[-1])[:_MOST_WORDS]]
    for length in range(len(words), 0, -1):
        for first in range(len(words) - length + 1):
            if named := known.get("".join(words[first : first + length])):
                return named
    return "other"
