"""What a report shows of a run: its answers, notes and pictures, gathered once for every form of report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from stepscope.analysis.answer import Answer
from stepscope.analysis.summary import Summary
from stepscope.diagnosis.finding import Diagnosis
from stepscope.diagnosis.pictures.memory import MemoryPicture
from stepscope.diagnosis.pictures.proofs import ProofPicture
from stepscope.store.notes import Note


@dataclass(frozen=True)
class RunReport:
    """``ranks`` are rows of the table of that name; ``answers`` lacks questions that the data cannot answer."""

    run: dict[str, Any]
    ranks: list[dict[str, Any]]
    answers: dict[str, Answer[Any]]
    notes: list[Note]
    pictures: list[ProofPicture]
    memory_pictures: list[MemoryPicture]

    @property
    def name(self) -> str:
        """What the user called it: the name of the file or directory that was read."""
        return PurePath(self.run["path"]).name or str(self.run["window"])

    @property
    def diagnosis(self) -> Diagnosis:
        diagnosis: Diagnosis = self.answers["diagnose"].data
        return diagnosis

    @property
    def summary(self) -> Summary | None:
        answer = self.answers.get("summary")
        return None if answer is None else answer.data
