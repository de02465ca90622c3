"""Which call of one side is which of the other: by path, shapes and turn in the step, then ever less strictly.

Calls of a typical step stand in a sequence. Both sequences are aligned by path and shapes; what is left between two
matches is aligned by path alone, then by the innermost operator; what is still left is matched by name wherever it
stands. The rest belongs to one side, or replaces a few calls of the other at the same place.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from stepscope.compare.alignment import aligned
from stepscope.compare.calls import SEPARATOR
from stepscope.compare.side import Side

#: More kinds of calls than this on a side are no replacement that a reader could follow.
_MOST_REPLACED: Final = 3
_KEY: Final = ["part", "path", "shapes"]


@dataclass(frozen=True)
class Kind:
    """What calls with the same path and shapes have in common."""

    part: str
    path: str
    shapes: str | None

    @property
    def name(self) -> str:
        """The innermost operator."""
        return self.path.rsplit(SEPARATOR, 1)[-1]


@dataclass(frozen=True)
class RowKey:
    """A row of the comparison: kinds of calls of either side that belong together; one side may have none."""

    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass
class Matching:
    """``kinds`` by number; ``rows`` of the comparison; each side's units (calls) with the row they belong to."""

    kinds: list[Kind]
    rows: list[RowKey] = field(default_factory=list)
    units: list[pl.DataFrame] = field(default_factory=list)


def matched(first: Side, second: Side) -> Matching:
    """All calls of both sides, each in one row."""
    units = [_units(side) for side in (first, second)]
    kinds = pl.concat([each.select(_KEY) for each in units]).unique(maintain_order=True).with_row_index("kind")
    units = [
        each.join(kinds, on=_KEY, how="left", nulls_equal=True, maintain_order="left").drop(_KEY) for each in units
    ]
    units = [_with_turns(each) for each in units]
    matching = Matching([Kind(*row) for row in kinds.select(pl.col(_KEY).cast(pl.String)).iter_rows()])
    rows = _Rows(matching)
    tables: list[list[pl.DataFrame]] = [[], []]
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[pl.DataFrame, pl.DataFrame]] = {}
    for rank_a, rank_b in _rank_pairs(first.chosen_ranks, second.chosen_ranks):
        sequences = _typical_sequence(units[0], rank_a), _typical_sequence(units[1], rank_b)
        if sequences not in known:
            known[sequences] = rows.of(*sequences)
        for side, (table, rank) in enumerate(zip(known[sequences], (rank_a, rank_b), strict=True)):
            tables[side].append(table.with_columns(rank=pl.lit(rank, pl.Int32)))
    matching.units = [
        rows.applied(side, each, pl.concat(table)) for side, (each, table) in enumerate(zip(units, tables, strict=True))
    ]
    matching.rows = rows.keys
    return matching


def _units(side: Side) -> pl.DataFrame:
    """One row per call and part, in the order of the calls."""
    return (
        side.calls.group_by("rank", "sample", "call", *_KEY)
        .agg(pl.col("called_ns").min(), pl.col("credit_ns").sum(), slice=pl.col("slice").min())
        .sort("rank", "sample", "called_ns", "slice")
    )


def _with_turns(units: pl.DataFrame) -> pl.DataFrame:
    """Which call of its kind in its step a unit is."""
    return units.with_columns(turn=pl.int_range(pl.len()).over("rank", "sample", "kind"))


def _rank_pairs(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Ranks side by side; where one side has more, the others stand beside its last."""
    length = max(len(first), len(second))
    return [(first[min(number, len(first) - 1)], second[min(number, len(second) - 1)]) for number in range(length)]


def _typical_sequence(units: pl.DataFrame, rank: int) -> tuple[int, ...]:
    """The kinds of calls in the step whose sequence is the most frequent one of the rank."""
    own = units.filter(pl.col("rank") == rank)
    sequences = own.group_by("sample", maintain_order=True).agg("kind")["kind"].to_list()
    if not sequences:
        return ()
    return Counter(map(tuple, sequences)).most_common(1)[0][0]


class _Rows:
    """Collects rows, and which call of a sequence belongs to which."""

    def __init__(self, matching: Matching) -> None:
        self.kinds = matching.kinds
        self.keys: list[RowKey] = []
        self._number: dict[RowKey, int] = {}
        self._by_path = _numbered((kind.part, kind.path) for kind in self.kinds)
        self._by_name = _numbered((kind.part, kind.name) for kind in self.kinds)

    def of(self, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Rows of two sequences: per side a table of ``kind``, ``turn`` and ``row``."""
        row_a, row_b = [-1] * len(first), [-1] * len(second)

        def match(pairs: Iterable[tuple[int, int]]) -> None:
            for i, j in pairs:
                row_a[i] = row_b[j] = self._row((first[i],), (second[j],))

        whole = aligned(first, second)
        match(whole.pairs)
        left: list[tuple[list[int], list[int]]] = whole.gaps
        for coarse in (self._by_path, self._by_name):
            remaining = []
            for only_a, only_b in left:
                inner = aligned([coarse[first[i]] for i in only_a], [coarse[second[j]] for j in only_b])
                match((only_a[i], only_b[j]) for i, j in inner.pairs)
                remaining += [([only_a[i] for i in gap_a], [only_b[j] for j in gap_b]) for gap_a, gap_b in inner.gaps]
            left = remaining
        for coarse in (self._by_path, self._by_name):
            match(_anywhere(coarse, first, second, row_a, row_b))
        for only_a, only_b in left:
            self._replaced(
                first, second, [i for i in only_a if row_a[i] < 0], [j for j in only_b if row_b[j] < 0], row_a, row_b
            )
        return _table(first, row_a), _table(second, row_b)

    def applied(self, side: int, units: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
        """Units with their row. A call that the typical step does not have is matched by its kind, or stands alone."""
        rows = units.join(table, on=["rank", "kind", "turn"], how="left", maintain_order="left")
        last = table.sort("turn").group_by("rank", "kind").agg(of_kind=pl.col("row").last())
        rows = rows.join(last, on=["rank", "kind"], how="left", maintain_order="left")
        unknown = rows.filter(pl.coalesce("row", "of_kind").is_null())["kind"].unique().to_list()
        alone = {kind: self._row((kind,), ()) if side == 0 else self._row((), (kind,)) for kind in unknown}
        own = pl.col("kind").replace_strict(alone, default=None, return_dtype=pl.Int64)
        return rows.with_columns(row=pl.coalesce("row", "of_kind", own)).drop("of_kind")

    def _replaced(
        self,
        first: Sequence[int],
        second: Sequence[int],
        only_a: list[int],
        only_b: list[int],
        row_a: list[int],
        row_b: list[int],
    ) -> None:
        kinds_a, kinds_b = sorted({first[i] for i in only_a}), sorted({second[j] for j in only_b})
        together = 0 < len(kinds_a) <= _MOST_REPLACED and 0 < len(kinds_b) <= _MOST_REPLACED
        parts = {self.kinds[kind].part for kind in (*kinds_a, *kinds_b)}
        if together and len(parts) == 1:
            row = self._row(tuple(kinds_a), tuple(kinds_b))
            for i in only_a:
                row_a[i] = row
            for j in only_b:
                row_b[j] = row
            return
        for i in only_a:
            row_a[i] = self._row((first[i],), ())
        for j in only_b:
            row_b[j] = self._row((), (second[j],))

    def _row(self, first: tuple[int, ...], second: tuple[int, ...]) -> int:
        key = RowKey(first, second)
        if key not in self._number:
            self._number[key] = len(self.keys)
            self.keys.append(key)
        return self._number[key]


def _anywhere(
    coarse: list[int], first: Sequence[int], second: Sequence[int], row_a: list[int], row_b: list[int]
) -> list[tuple[int, int]]:
    """What is left on both sides under one name, in order of occurrence."""
    waiting: defaultdict[int, deque[int]] = defaultdict(deque)
    for j, kind in enumerate(second):
        if row_b[j] < 0:
            waiting[coarse[kind]].append(j)
    return [
        (i, waiting[coarse[kind]].popleft()) for i, kind in enumerate(first) if row_a[i] < 0 and waiting[coarse[kind]]
    ]


def _numbered(values: Iterable[tuple[str, str]]) -> list[int]:
    numbers: dict[tuple[str, str], int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def _table(sequence: Sequence[int], rows: Sequence[int]) -> pl.DataFrame:
    frame = pl.DataFrame({"kind": pl.Series(sequence, dtype=pl.UInt32), "row": pl.Series(rows, dtype=pl.Int64)})
    return frame.with_columns(turn=pl.int_range(pl.len()).over("kind"))
