"""Names of kernels as tables show them: short, so that a row fits a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from stepscope.facts.kernel_names import short_name

_LONG: Final = 60
_LONGEST: Final = 80
_NAMESPACE: Final = re.compile(r"\b\w+::")


def readable_name(name: str | None) -> str:
    """A name without the arguments of a template or a call, if it is long.

    >>> readable_name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    'ncclDevKernel_AllReduce_Sum_f32_RING_LL'
    """
    if name is None:
        return "-"
    return short_name(name) if len(name) > _LONG and any(bracket in name for bracket in "<(") else name


def distinct_names(names: Sequence[str | None]) -> list[str]:
    """Names that nothing else in their table tells apart: where short ones would be the same, only namespaces go.

    >>> kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, 2ul> >(int)"
    >>> gelu, add = kernel.format("GeluFunctor"), kernel.format("AddFunctor")
    >>> distinct_names([gelu, add])[0]
    'vectorized_elementwise_kernel<4, GeluFunctor, array<char*, 2ul> >(int)'
    >>> distinct_names([gelu, gelu])
    ['vectorized_elementwise_kernel', 'vectorized_elementwise_kernel']
    """
    meant = Counter(readable_name(name) for name in set(names))
    return [short if meant[short := readable_name(name)] == 1 else without_namespaces(name or short) for name in names]


def without_namespaces(name: str) -> str:
    """A name with the arguments of its template, as far as they fit."""
    plain = _NAMESPACE.sub("", name.removeprefix("void ").replace("(anonymous namespace)::", ""))
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}…"
