"""What the scope in an operator's full name tells: ``Gradients/Default/network-Net/conv-Conv2d/Conv2D-op3``."""

from __future__ import annotations

import polars as pl

from stepscope.facts.mindinsight import mindinsight_facts


def module(column: str) -> pl.Expr:
    """The path of scopes around an operator; null for a bare name.

    >>> pl.DataFrame({"name": ["Default/a/Mul-op1", "Mul"]}).select(module("name")).to_series().to_list()
    ['Default/a', None]
    """
    return pl.col(column).str.extract(r"^(.*)/[^/]*$")


def phase(column: str) -> pl.Expr:
    """forward, backward, optimizer or data, by patterns kept as facts; null where none fits.

    >>> names = ["Gradients/Default/Mul-op1", "Default/optimizer-Momentum/Mul-op2", "Default/Mul-op3", "Mul"]
    >>> pl.DataFrame({"name": names}).select(phase("name")).to_series().to_list()
    ['backward', 'optimizer', 'forward', None]
    """
    phases = pl.lit(None, pl.String)
    for word, pattern in reversed(list(mindinsight_facts().phases.items())):
        phases = pl.when(pl.col(column).str.contains(pattern)).then(pl.lit(word)).otherwise(phases)
    return phases
