"""Joining rows of tables by a number that both carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.ascend_db.strings import Coded


@dataclass
class Joined:
    """A table whose rows describe rows of another one; ``row_of`` says where each of the other's is described."""

    rows: pl.DataFrame
    row_of: Int64s

    @property
    def is_described(self) -> Bools:
        result: Bools = self.row_of != NONE
        return result

    def spread(self, values: Int64s) -> Int64s:
        """A column of ours for each row of the other table, NULL where nothing is described."""
        if not len(values):
            return np.full(len(self.row_of), NULL, np.int64)
        return np.where(self.is_described, values[self.row_of], NULL)

    def spread_coded(self, coded: Coded) -> Coded:
        """The same for a column of texts."""
        codes, texts = coded
        if not len(codes):
            return np.full(len(self.row_of), -1, np.int64), texts
        return np.where(self.is_described, codes[self.row_of], -1), texts


def first_match(keys: Int64s, wanted: Int64s) -> Int64s:
    """For each wanted number the index of the first equal key, NONE where there is none; NULL equals nothing.

    >>> first_match(np.array([7, 5, 7]), np.array([5, 7, 6])).tolist()
    [1, 0, -1]
    """
    if not len(keys):
        return np.full(len(wanted), NONE, np.int64)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    index = np.minimum(np.searchsorted(ordered, wanted), len(keys) - 1)
    return np.where((ordered[index] == wanted) & (wanted != NULL), order[index], NONE)


def distinct(*columns: Int64s) -> tuple[list[tuple[int, ...]], Int64s]:
    """The different rows of some columns, and for each row the number of its like.

    >>> rows, number_of_row = distinct(np.array([1, 2, 1]), np.array([5, 5, 5]))
    >>> rows, number_of_row.tolist()
    ([(1, 5), (2, 5)], [0, 1, 0])
    """
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, number_of_row = np.unique(column, return_inverse=True)
        code = code * len(values) + number_of_row
    _, first, number_of_row = np.unique(code, return_index=True, return_inverse=True)
    return [tuple(int(column[row]) for column in columns) for row in first.tolist()], number_of_row


def coalesced(*columns: Coded) -> Coded:
    """Of several columns of texts the first that says something, row by row."""
    codes, texts = columns[0]
    result, words = codes.copy(), list(texts)
    for more, more_texts in columns[1:]:
        result = np.where((result < 0) & (more >= 0), more + len(words), result)
        words += more_texts
    return result, words
