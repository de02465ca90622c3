"""Notes: what was dropped, repaired or missing, counted, and kept beside the data they are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Note:
    """One kind of remark about one file; its sentence is the catalogue's ``note.<code>``."""

    code: str
    params: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    place: str = ""
    count: int = 1
    rank: int | None = None

    def sentence(self, lang: str = "en") -> str:
        from stepscope.texts import text

        # What is itself a sentence comes in each language: reason, reason_zh.
        params = {name: self.params.get(f"{name}_{lang}", value) for name, value in self.params.items()}
        return text(f"note.{self.code}", lang, count=self.count, file=self.file, place=self.place, **params)


class Notes:
    """Collects notes while a file is read; equal ones are counted, not repeated.

    >>> notes = Notes()
    >>> notes.add("event_dropped", file="a.json"); notes.add("event_dropped", file="a.json", count=2)
    >>> [(note.code, note.count) for note in notes.all()]
    [('event_dropped', 3)]
    """

    def __init__(self) -> None:
        self._notes: dict[tuple[Any, ...], Note] = {}

    def add(self, code: str, *, file: str = "", place: str = "", count: int = 1, **params: Any) -> None:
        """Count a remark; ``place`` is kept from its first occurrence."""
        if count <= 0:
            return
        key = (code, file, *sorted((name, str(value)) for name, value in params.items()))
        if key in self._notes:
            self._notes[key].count += count
        else:
            self._notes[key] = Note(code, params, file, place, count)

    def all(self) -> list[Note]:
        return list(self._notes.values())
