"""Which notes a command prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stepscope.cli.options import language

if TYPE_CHECKING:
    from stepscope.run import Run
    from stepscope.store.notes import Note


def show(run: Run, more: Iterable[Note], ranks: Sequence[int] | None = None) -> None:
    """Those of an answer; those of its capture with them if it was read only now, else how many there are."""
    from stepscope.report import terminal

    known = about(ranks, run.notes)
    if run.ingested.read:
        terminal.show_notes([*known, *more], language())
    else:
        terminal.show_notes(more, language())
        terminal.show_known_notes(known, run.ingested.paths, language())


def about(ranks: Sequence[int] | None, notes: Iterable[Note]) -> list[Note]:
    """The notes on the ranks asked for, and on the run as a whole."""
    return [note for note in notes if not ranks or note.rank is None or note.rank in ranks]
