"""Numbers of the vendor's JSON files as rows of ``reported``, a column of them at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl

from stepscope.arrays import Float64s, Int64s
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import categorical


class ReportedCells:
    """Numbers of the entries of one file, in the order in which they are added; what is no number is left out.

    >>> cells = ReportedCells([1, 1], ["a", "b"])
    >>> cells.add(["time", "time"], [0, 1], [2.5, float("nan")])
    >>> cells.frame("file.json").select("step", "key", "metric", "value").rows()
    [(1, 'a', 'time', 2.5)]
    """

    def __init__(self, steps: Sequence[int | None], keys: Sequence[str]) -> None:
        self._steps = pl.Series("step", steps, dtype=pl.Int64)
        self._keys = pl.Series("key", keys, dtype=pl.String).cast(pl.Categorical)
        self._metrics = Codes()
        self._cells: list[tuple[Int64s, Int64s, Float64s]] = []

    def add(self, metrics: Iterable[str], entries: Sequence[int] | Int64s, values: Sequence[float] | Float64s) -> None:
        """Numbers with their entries, which are positions in ``steps`` and ``keys``, and what each measures."""
        codes = np.fromiter((self._metrics[metric] for metric in metrics), np.int64, len(entries))
        self._cells.append((codes, np.asarray(entries, np.int64), np.asarray(values, np.float64)))

    def add_column(self, metric: str, entries: Sequence[int] | Int64s, values: Sequence[float] | Float64s) -> None:
        """The same measure of many entries."""
        code = np.full(len(entries), self._metrics[metric], np.int64)
        self._cells.append((code, np.asarray(entries, np.int64), np.asarray(values, np.float64)))

    def frame(self, file: str) -> pl.DataFrame:
        """Rows of ``reported``."""
        metric, entry, value = (np.concatenate(column) for column in zip(*self._cells, strict=True))
        finite = np.isfinite(value)
        position = pl.Series(entry[finite])
        return pl.DataFrame(
            {
                "step": self._steps.gather(position),
                "key": self._keys.gather(position),
                "metric": categorical(metric[finite], self._metrics.texts()),
                "value": value[finite],
            }
        ).with_columns(file=pl.lit(file, pl.Categorical))


def measured(values: Sequence[Any], fields: Iterable[str]) -> Float64s:
    """The fields of some structures: one row per field, one column per structure."""
    names = tuple(fields)
    rows = map(attrgetter(*names), values) if len(names) > 1 else ((getattr(each, names[0]),) for each in values)
    flat = np.fromiter(chain.from_iterable(rows), np.float64, len(values) * len(names))
    return np.ascontiguousarray(flat.reshape(len(values), len(names)).T)
