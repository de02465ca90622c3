"""Whether two texts of shapes describe the same tensors."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

_OF_PYTORCH = re.compile(r"\[([\d, ]+)\]")


@cache
def same_shapes(first: str | None, second: str | None) -> bool:
    """Whether one has all tensors of the other: a compiled call is given its output, too. Unknown shapes may be any.

    >>> same_shapes("[[4, 8], []]", "[[4, 8], [8], []]"), same_shapes("4,8;8", "4,16;16"), same_shapes(None, "4,8")
    (True, False, True)
    """
    one, other = _tensors(first), _tensors(second)
    return not one or not other or not (one - other) or not (other - one)


def _tensors(shapes: str | None) -> Counter[str]:
    if shapes is None:
        return Counter()
    if "[" in shapes:
        return Counter(shape.replace(" ", "") for shape in _OF_PYTORCH.findall(shapes))
    return Counter(shape for shape in shapes.replace('"', "").split(";") if shape)
