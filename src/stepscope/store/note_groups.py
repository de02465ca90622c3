"""Notes for people: one entry per kind of remark, with the ranks it is about and how often it was made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.facts.notes import notes_facts
from stepscope.store.notes import Note

Level = Literal["note", "info"]

_FILES_NAMED: Final = 3


@dataclass(frozen=True)
class NoteGroup:
    """All notes of one code; ``first`` stands for those that differ from it in rank, file and count alone."""

    code: str
    first: Note
    ranks: list[int]
    files: list[str]
    count: int
    others: int  # of the same code that say something else

    @property
    def level(self) -> Level:
        return level_of(self.code)

    def sentence(self, lang: str = "en") -> str:
        """What it says, and how many others of its kind there are.

        >>> notes = [Note("event_dropped", {}, f"{rank}.json", "event 3", 2, rank) for rank in range(5)]
        >>> (group,) = grouped(notes)
        >>> group.sentence()
        '10 events in 0.json (also 1.json, 2.json and 2 more) could not be read and were dropped (first: event 3).'
        >>> group.ranks
        [0, 1, 2, 3, 4]
        """
        from stepscope.texts import text

        merged = Note(self.code, self.first.params, self._files(lang), self.first.place, self.count, self.first.rank)
        sentence = merged.sentence(lang)
        return f"{sentence} {text('report.note_others', lang, count=self.others)}" if self.others else sentence

    def _files(self, lang: str) -> str:
        from stepscope.texts import text

        first, *others = self.files or [""]
        if not others:
            return first
        named, more = ", ".join(others[: _FILES_NAMED - 1]), len(self.files) - _FILES_NAMED
        if more > 0:
            return text("report.note_more_files", lang, first=first, files=named, count=more)
        return text("report.note_files", lang, first=first, files=named)


def level_of(code: str) -> Level:
    """``info`` for what asks nothing of a user."""
    return "info" if code in notes_facts().info else "note"


def grouped(notes: Iterable[Note]) -> list[NoteGroup]:
    """One group per code, in the order in which the codes first appear."""
    by_code: dict[str, dict[str, list[Note]]] = {}
    for note in notes:
        values = repr(sorted((name, str(value)) for name, value in note.params.items()))
        by_code.setdefault(note.code, {}).setdefault(values, []).append(note)
    return [_group(code, list(alike.values())) for code, alike in by_code.items()]


def _group(code: str, alike: list[list[Note]]) -> NoteGroup:
    first = alike[0]
    everybody = [note for same in alike for note in same]
    return NoteGroup(
        code,
        first[0],
        sorted({note.rank for note in everybody if note.rank is not None}),
        list(dict.fromkeys(note.file for note in first if note.file)),
        sum(note.count for note in first),
        len(alike) - 1,
    )
