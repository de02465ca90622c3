"""Names of kernels made short: what stands as the type of a kernel that states none."""

from __future__ import annotations

import re
from functools import cache

from stepscope.facts.operators import operators_facts


@cache
def short_name(kernel: str) -> str:
    """What kind of kernel it is: without result, namespaces, template and call arguments, tile sizes and numbers.

    >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>(int, int)")
    'vectorized_elementwise_kernel'
    >>> short_name("triton_poi_fused_add_mul_12"), short_name("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn")
    ('triton_poi_fused_add_mul', 'ampere_bf16_s16816gemm_bf16')
    """
    rules = operators_facts().short_names
    text = kernel.removeprefix("void ").replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    outer, inner = _outside_brackets(text)
    last = outer.split("::")[-1].strip()
    if last in rules.generic and inner:
        last = _outside_brackets(inner)[0].split("::")[-1].strip()
    for pattern in rules.cut:
        last = re.sub(pattern, "", last)
    return last or kernel


def _outside_brackets(text: str) -> tuple[str, str]:
    """The text up to its first bracket, and the first argument inside."""
    match = re.search(r"[<(]", text)
    if match is None or match.start() == 0:
        return text, ""
    depth, inside = 0, []
    for character in text[match.start() :]:
        depth += (character in "<(") - (character in ">)")
        if depth == 0 or (depth == 1 and character == ","):
            break
        inside.append(character)
    return text[: match.start()], "".join(inside[1:])
