"""What an analysis gives back: its data, and notes on what the data could not tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
import polars as pl

from stepscope.store.notes import Note

Data = TypeVar("Data")


@dataclass(frozen=True)
class Answer(Generic[Data]):
    """Data is a Polars frame (one row per entry of a JSON list) or a typed structure."""

    data: Data
    notes: list[Note] = field(default_factory=list)
    beside: dict[str, Any] = field(default_factory=dict)  # what is told of the rows as a whole, by name

    def plain(self) -> Any:
        """The data as lists, dictionaries and numbers, as ``--json`` and the server show it."""
        return self.data.to_dicts() if isinstance(self.data, pl.DataFrame) else msgspec.to_builtins(self.data)

    def plain_beside(self) -> dict[str, Any]:
        """What stands in the document beside the data."""
        return {name: msgspec.to_builtins(value) for name, value in self.beside.items()}
