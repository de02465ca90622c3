"""Texts of a profiler database: most columns hold ids into ``STRING_IDS`` or into one of the ``ENUM_`` tables."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import Int32s
from stepscope.readers.ascend.device_tasks import is_missing
from stepscope.readers.sqlite.database import Database
from stepscope.readers.trace_json.codes import Codes

#: A column of texts: a code per row, negative where there is none, and the texts.
Coded = tuple[npt.NDArray[Any], list[str | None]]

#: Name of what refers to a text that the database lacks.
UNKNOWN: Final = "?"

_NOTHING: Final = -1


class Strings:
    """The texts of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        table = database.frame("STRING_IDS", integers=["id"], texts=["value"]).drop_nulls()
        self._texts: dict[int, str] = dict(table.unique("id", keep="first").iter_rows())
        self._enums: dict[str, dict[int, str]] = {}
        self.unknown: set[int] = set()  # ids that no text has

    def coded(self, ids: pl.Series) -> Coded:
        """Codes and texts of a column of ids; the vendor's words for "nothing" get no code."""
        own = {number: text for text, number in self._database.own_texts.items()}
        return _coded(ids, {**self._texts, **own} if own else self._texts, self.unknown)

    def names(self, ids: pl.Series, names: Codes) -> Int32s:
        """Codes of names that several tables share."""
        codes, texts = self.coded(ids)
        shared = [names[text] if text else names[UNKNOWN] for text in texts]
        return np.array([*shared, names[UNKNOWN]] if _NOTHING in codes else shared, np.int32)[codes]

    def enum(self, table: str, ids: pl.Series) -> Coded:
        """Codes and texts of a column that refers to an ``ENUM_`` table."""
        if table not in self._enums:
            known = self._database.frame(table, integers=["id"], texts=["name"]).drop_nulls()
            self._enums[table] = dict(known.unique("id", keep="first").iter_rows())
        return _coded(ids, self._enums[table])


def as_texts(coded: Coded) -> pl.Series:
    """A column of texts from its codes."""
    codes, texts = coded
    indices = pl.Series(codes.astype(np.int64))
    return pl.Series(texts or [None], dtype=pl.String).gather(indices.set(indices < 0, None))


def _coded(ids: pl.Series, known: dict[int, str], unknown: set[int] | None = None) -> Coded:
    numbers = (ids.fill_null(_NOTHING) if ids.null_count() else ids).to_numpy()
    distinct, text_of_row = np.unique(numbers, return_inverse=True)
    texts = [known.get(number) for number in distinct.tolist()]
    if unknown is not None:
        unknown.update(number for number in distinct.tolist() if number not in known and number != _NOTHING)
    code = np.array(
        [_NOTHING if text is None or is_missing(text) else index for index, text in enumerate(texts)], np.int64
    )
    return (code[text_of_row] if len(code) else np.empty(0, np.int64)), list(texts)
