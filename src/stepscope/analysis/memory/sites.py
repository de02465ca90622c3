"""Sites: the places in a program that allocate. A site is a space, the program's own frames, and the operator."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import numpy as np
import polars as pl

from stepscope import facts
from stepscope.store.run_store import RunStore

_ADDRESS: Final = r" at 0x[0-9a-fA-F]+"
_MODULE_NUMBER: Final = r"^(nn\.Module: .*?)_\d+$"
_FOLDERS: Final = r"^.*[/\\]"
_ARROW: Final = " > "
_NO_NAME: Final = "?"


@cache
def _foreign() -> str:
    """Matches frames of the interpreter, of frameworks and of installed libraries."""
    return "|".join(f"(?:{pattern})" for pattern in facts.table("memory")["sites"]["foreign_frames"])


def sites_of(
    store: RunStore, rank: int, blocks: pl.DataFrame, *, by_size: bool = True
) -> tuple[pl.Series, pl.DataFrame]:
    """The number of each block's site, and the sites: site, label, operator, frames.

    Without a stack the operator and the size stand for the place (``by_size``), so that what is alike stays together.
    """
    used = blocks["stack"].drop_nulls().unique()
    stacks = store.scan("stacks", [rank]).select("stack", "frames").filter(pl.col("stack").is_in(used.implode()))
    keys = _keys(stacks.collect().unique("stack", keep="first"))
    # Texts of stacks are long: blocks are put together by numbers that stand for them.
    numbers = keys.select("stack", key=pl.col("key").rank("dense"))
    placed = blocks.select("device", "pool", "operator", "bytes", "stack").with_row_index("place")
    placed = placed.join(numbers, on="stack", how="left", maintain_order="left").with_columns(
        size=pl.when(pl.col("key").is_null() & by_size).then("bytes")
    )
    sites = (
        placed.group_by("device", "pool", "key", "operator", "size", maintain_order=True)
        .agg("place", pl.col("stack").first())
        .with_row_index("site")
        .join(keys.drop("key"), on="stack", how="left", maintain_order="left")
        .with_columns(pl.col("operator").cast(pl.String))
        .with_columns(label=_label())
    )
    site = np.empty(len(blocks), np.uint32)
    site[sites["place"].explode().to_numpy()] = np.repeat(sites["site"].to_numpy(), sites["place"].list.len())
    return pl.Series("site", site), sites.select("site", "label", "operator", "frames")


def _keys(stacks: pl.DataFrame) -> pl.DataFrame:
    """stack, frames, key (own frames, outermost first) and label (the two innermost of them) of each stack."""
    frame = pl.col("frame").str.replace(_ADDRESS, "").str.replace(_MODULE_NUMBER, "${1}").str.strip_chars()
    lines = stacks.with_columns(frame=pl.col("frames").str.split("\n")).explode("frame").with_columns(frame=frame)
    own = lines.filter(~pl.col("frame").str.contains(_foreign()))
    # A stack without any own frame is told apart by all it has.
    rest = lines.join(own, on="stack", how="anti")
    short = pl.col("frame").str.replace(_FOLDERS, "")
    return (
        pl.concat([own, rest])
        .group_by("stack", maintain_order=True)
        .agg(
            pl.col("frames").first(),
            key=pl.col("frame").str.join("\n"),
            label=short.filter(~pl.col("frame").str.starts_with("nn.Module: ")).tail(2).str.join(_ARROW),
        )
    )


def _label() -> pl.Expr:
    """The place, and the operator where that is not the place itself."""
    place, operator = pl.col("label"), pl.col("operator")
    told = place.str.ends_with(operator.fill_null("")).fill_null(False) & operator.is_not_null()
    bare = pl.concat_str([operator, pl.format("{} B", "size")], separator=" ", ignore_nulls=True).replace("", _NO_NAME)
    return (
        pl.when(place.is_null())
        .then(bare)
        .when(operator.is_null() | told)
        .then(place)
        .otherwise(pl.format("{} [{}]", place, operator))
    )


def own_frames(stack: str) -> list[str]:
    """The frames of a stack that are the program's own, outermost first, without folders.

    >>> own_frames("/job/train.py(90): <module>\\n/job/train.py(12): step\\ntorch/nn/modules/linear.py(130): forward")
    ['train.py(90): <module>', 'train.py(12): step']
    """
    return [re.sub(_FOLDERS, "", line) for line in stack.split("\n") if not re.search(_foreign(), line)]
