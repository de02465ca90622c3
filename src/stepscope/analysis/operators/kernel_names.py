"""Names of kernels made short, and sorted into categories."""

from __future__ import annotations

import re
from functools import cache

import polars as pl

from stepscope import facts
from stepscope.analysis.foundation.work import COMPUTE


@cache
def short_name(kernel: str) -> str:
    """What kind of kernel it is: without result, namespaces, template and call arguments, tile sizes and numbers.

    >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>(int, int)")
    'vectorized_elementwise_kernel'
    >>> short_name("triton_poi_fused_add_mul_12"), short_name("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn")
    ('triton_poi_fused_add_mul', 'ampere_bf16_s16816gemm_bf16')
    """
    rules = facts.table("operators")["short_names"]
    text = kernel.removeprefix("void ").replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    outer, inner = _outside_brackets(text)
    last = outer.split("::")[-1].strip()
    if last in rules["generic"] and inner:
        last = _outside_brackets(inner)[0].split("::")[-1].strip()
    for pattern in rules["cut"]:
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


@cache
def category(kernel: str, operator: str) -> str:
    """The category whose pattern the kernel's name or type fits first, else that of its operator, else ``other``."""
    for name in (kernel, operator):
        for entry, pattern in _patterns():
            if name and pattern.search(name):
                return entry
    return "other"


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((entry["name"], re.compile(entry["pattern"])) for entry in facts.table("operators")["category"])


def with_short_types(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose ``type``, where none was recorded, is the short name of the kernel. Works on distinct names."""
    names = rows.filter(pl.col("type").is_null() & pl.col("name").is_not_null()).select("name").unique()
    if names.is_empty():
        return rows
    short = [short_name(name) for name in names["name"].cast(pl.String)]
    known = names.with_columns(short=pl.Series(short, dtype=pl.String).cast(rows.schema["type"]))
    return rows.join(known, on="name", how="left").with_columns(type=pl.coalesce("type", "short")).drop("short")


def with_categories(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their ``category``; communication and copies are known by the lane. Works on distinct names."""
    keys = ["name", "type", "operator", "lane"]
    combinations = rows.select(keys).unique()
    texts = combinations.select(pl.col(keys).cast(pl.String)).iter_rows()
    found = [
        category(f"{kind or ''} {name or ''}", operator or "") if lane == COMPUTE else lane
        for name, kind, operator, lane in texts
    ]
    combinations = combinations.with_columns(category=pl.Series(found, dtype=pl.String).cast(pl.Categorical))
    return rows.join(combinations, on=keys, how="left", nulls_equal=True)
