"""Names of kernels made short: what stands as the type of a kernel that states none."""

from __future__ import annotations

import re
from functools import cache

from stepscope.facts.operators import operators_facts

#: Before the names that a compiler joined into one (Itanium C++ ABI): nesting, and a prefix that it wrote as a number.
_MANGLED = re.compile(r"_ZN?K?(?:S\w?_|St)?")
#: Behind them: arguments of the template, up to the first that is a type of its own.
_MANGLED_ARGUMENT = re.compile(r"I(?:L[a-z]n?\d+E)*N?(?:S\w?_|St)?")
_LENGTH = re.compile(r"\d+")


@cache
def short_name(kernel: str) -> str:
    """What kind of kernel it is: without result, namespaces, template and call arguments, tile sizes and numbers.

    >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>(int, int)")
    'vectorized_elementwise_kernel'
    >>> short_name("triton_poi_fused_add_mul_12"), short_name("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn")
    ('triton_poi_fused_add_mul', 'ampere_bf16_s16816gemm_bf16')
    >>> short_name("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEEvPT0_")
    'add_rmsnorm_quant_kernel'
    """
    rules = operators_facts().short_names
    own, argument = _mangled(kernel) or _written(kernel)
    last = argument if own in rules.generic and argument else own
    for pattern in rules.cut:
        last = re.sub(pattern, "", last)
    return last or kernel


def _mangled(kernel: str) -> tuple[str, str] | None:
    """The function's own name and its first type, of a name that a compiler joined; None for any other."""
    beginning = _MANGLED.match(kernel)
    own, end = _joined(kernel, beginning.end()) if beginning else ("", 0)
    if not own:
        return None
    following = _MANGLED_ARGUMENT.match(kernel, end)
    return own, _joined(kernel, following.end())[0] if following else ""


def _joined(text: str, at: int) -> tuple[str, int]:
    """The last of several names, each behind its length, and where they end."""
    last = ""
    while length := _LENGTH.match(text, at):
        at = length.end() + int(length[0])
        last = text[length.end() : at]
    return last, at


def _written(kernel: str) -> tuple[str, str]:
    """The function's own name and the first type among the arguments of its template."""
    text = kernel.removeprefix("void ").replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    name, arguments = _outside_brackets(text)
    result, _, behind = name.rpartition(" ")
    # Only the type of a result has a namespace: other names may consist of several words.
    own = behind if "::" in result else name
    first = next((one for one in arguments if one[:1].isalpha()), "")
    return _last_of(own), _last_of(_outside_brackets(first)[0])


def _last_of(name: str) -> str:
    return name.rsplit("::", maxsplit=1)[-1].strip()


def _outside_brackets(text: str) -> tuple[str, list[str]]:
    """What stands before the call and outside of brackets, and the arguments of the last template there."""
    outside: list[str] = []
    arguments = [""]
    opened: list[str] = []
    for character in text:
        if character == "(" and not opened and outside:
            break
        if character in "<(":
            if not opened:
                arguments = [""]
            opened.append(character)
            if len(opened) == 1:
                continue
        elif opened and opened[-1] + character in ("<>", "()"):
            opened.pop()
            if not opened:
                continue
        if not opened:
            outside.append(character)
        elif character == "," and len(opened) == 1:
            arguments.append("")
        else:
            arguments[-1] += character
    return "".join(outside) or text, [one.strip() for one in arguments]
