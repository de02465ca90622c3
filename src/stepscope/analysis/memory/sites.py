"""Sites: the places in a program that allocate. A site is a space, the program's own frames, and the operator."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import numpy as np
import polars as pl

from stepscope.facts.memory import memory_facts
from stepscope.store.run_store import RunStore

_ADDRESS: Final = r" at 0x[0-9a-fA-F]+"
_MODULE_NUMBER: Final = r"^(nn\.Module: .*?)_\d+$"
_FOLDERS: Final = r"^.*[/\\]"
_ARROW: Final = " > "
_NO_STACK: Final = "(no stack)"


@cache
def _any_of(patterns: str) -> str:
    """Matches what one of these patterns matches."""
    return "|".join(f"(?:{pattern})" for pattern in memory_facts().sites[patterns])


def _foreign() -> str:
    """Matches frames of the interpreter, of frameworks and of installed libraries."""
    return _any_of("foreign_frames")


def sites_of(
    store: RunStore, rank: int, blocks: pl.DataFrame, *, by_size: bool = True
) -> tuple[pl.Series, pl.DataFrame]:
    """The number of each block's site, and the sites: site, label, operator, frames.

    Without a line of Python the operator and the size stand for the place (``by_size``), so that what is alike stays
    together.
    """
    used = blocks["stack"].drop_nulls().unique()
    scan = store.scan("stacks", [rank]).select("stack", "frames").filter(pl.col("stack").is_in(used.implode()))
    stacks = scan.collect().unique("stack", keep="first")
    keys = _keys(stacks)
    # Texts of stacks are long: blocks are put together by numbers that stand for them.
    numbers = keys.select("stack", key=pl.col("key").rank("dense"))
    placed = blocks.select("device", "pool", "operator", "bytes", "stack").with_row_index("position")
    placed = placed.join(numbers, on="stack", how="left", maintain_order="left").with_columns(
        size=pl.when(pl.col("key").is_null() & by_size).then("bytes")
    )
    sites = (
        placed.group_by("device", "pool", "key", "operator", "size", maintain_order=True)
        .agg("position", pl.col("stack").first())
        .with_row_index("site")
        .join(keys.select("stack", "label"), on="stack", how="left", maintain_order="left")
        .join(stacks.select("stack", "frames"), on="stack", how="left", maintain_order="left")
        .with_columns(pl.col("operator").cast(pl.String))
        .with_columns(label=_label())
    )
    site = np.empty(len(blocks), np.uint32)
    site[sites["position"].explode().to_numpy()] = np.repeat(sites["site"].to_numpy(), sites["position"].list.len())
    return pl.Series("site", site), sites.select("site", "label", "operator", "frames")


def _keys(stacks: pl.DataFrame) -> pl.DataFrame:
    """For each stack with Python lines: key (own frames, outermost first) and label (the two innermost of them)."""
    frame = pl.col("frame").str.replace(_ADDRESS, "").str.replace(_MODULE_NUMBER, "${1}").str.strip_chars()
    lines = stacks.with_columns(frame=pl.col("frames").str.split("\n")).explode("frame").with_columns(frame=frame)
    own = lines.filter(~pl.col("frame").str.contains(_foreign()))
    # A stack without own frames is identified by all its Python frames; C++ frames do not name a place.
    rest = lines.join(own, on="stack", how="anti").filter(~pl.col("frame").str.contains(_any_of("native_frames")))
    short = pl.col("frame").str.replace(_FOLDERS, "")
    return (
        pl.concat([own, rest])
        .group_by("stack", maintain_order=True)
        .agg(
            key=pl.col("frame").str.join("\n"),
            label=short.filter(~pl.col("frame").str.starts_with("nn.Module: ")).tail(2).str.join(_ARROW),
        )
    )


def _label() -> pl.Expr:
    """The place, and the operator where that is not the place itself."""
    line, operator = pl.col("label"), pl.col("operator")
    told = line.str.ends_with(operator.fill_null("")).fill_null(False) & operator.is_not_null()
    size = pl.col("size").map_elements(exact_size, return_dtype=pl.String)
    bare = pl.concat_str([operator.fill_null(_NO_STACK), size], separator=" ", ignore_nulls=True)
    return (
        pl.when(line.is_null())
        .then(bare)
        .when(operator.is_null() | told)
        .then(line)
        .otherwise(pl.format("{} [{}]", line, operator))
    )


def exact_size(size: int) -> str:
    """Bytes in the largest unit in which at most two decimals tell them exactly.

    >>> exact_size(33554432), exact_size(9437696), exact_size(2621440), exact_size(48), exact_size(150995456)
    ('32 MiB', '9,216.5 KiB', '2.5 MiB', '48 B', '147,456.5 KiB')
    """
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size * 4 % unit == 0:
            return f"{size / unit:,.2f}".rstrip("0").rstrip(".") + f" {name}"
    return f"{size} B"


def own_frames(stack: str) -> list[str]:
    """The frames of a stack that are the program's own, outermost first, without folders.

    >>> own_frames("/job/train.py(90): <module>\\n/job/train.py(12): step\\ntorch/nn/modules/linear.py(130): forward")
    ['train.py(90): <module>', 'train.py(12): step']
    """
    return [without_folders(line) for line in stack.split("\n") if is_own_frame(line)]


def is_own_frame(frame: str) -> bool:
    """Whether a frame is of the program itself, and not of the interpreter, a framework or an installed library."""
    return not re.search(_foreign(), frame)


def without_address(frame: str) -> str:
    """A frame without the address of the object that a built-in method belongs to."""
    return re.sub(_ADDRESS, "", frame)


def without_folders(frame: str) -> str:
    """A frame with the name of its file alone."""
    return re.sub(_FOLDERS, "", frame)
