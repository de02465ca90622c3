"""The facade: ``load(path)`` gives a Run, whose methods answer questions about it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from stepscope.engine.engines import executor_of
from stepscope.engine.ingest import Ingested, Progress, ingest
from stepscope.errors import NoAnswerError, UsageError
from stepscope.questions.methods import QuestionMethods
from stepscope.store import schema
from stepscope.store.given_plan import remember_plan
from stepscope.store.notes import Note
from stepscope.store.query import select
from stepscope.store.run_store import RunStore
from stepscope.texts import preferred_language

if TYPE_CHECKING:
    from stepscope.compare.comparison import Comparison
    from stepscope.report.run_report import RunReport

_WINDOWS_NAMED: Final = 8


def load(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    window: str | None = None,
    source: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    executor: Executor | None = None,
    within: Sequence[Path] | None = None,
    parallel: str | None = None,
    groups: str | os.PathLike[str] | None = None,
    engine: str | None = None,
) -> Run:
    """Open a capture, reading it into the store first if that is new or has changed; several paths make one run.

    ``window`` picks one of several captures in a folder, else the newest. ``source`` (text or db) picks one of the two
    forms of an Ascend capture, else the more complete. ``store`` says where to keep what was read, else the user's
    cache directory. A progress bar appears on a terminal unless ``progress`` is False. ``within`` names directories:
    what lies behind links that lead out of them is left out. ``parallel`` (``"tp=8,pp=4"``) or ``groups`` (a file) give
    the parallel plan, which is remembered for this capture; ``"auto"`` forgets it. ``engine`` says where ranks are
    read: ``"local"``, or ``"dask=ADDRESS"`` of a scheduler.

    >>> import stepscope
    >>> stepscope.load("no such trace.json")
    Traceback (most recent call last):
      ...
    stepscope.errors.UnreadableInputError: There is no file or directory no such trace.json. Check the path.
    """
    from stepscope.report.progress import progress_bar

    with progress_bar(progress) as report, executor_of(engine) as chosen:
        directory = Path(store) if store is not None else None
        paths = [Path(path)] if isinstance(path, (str, os.PathLike)) else [Path(each) for each in path]
        ingested = ingest(paths, window, directory, report, executor or chosen, form=source, within=within)
    remember_plan(ingested.store, parallel, None if groups is None else Path(groups))
    return Run(ingested)


class Run(QuestionMethods):
    """One capture window of one job; every question is a method.

    >>> import stepscope
    >>> run = stepscope.load("traces", progress=False)
    >>> run
    <Run 'traces': 2 ranks, 98 slices>
    >>> run.steps(ranks=[1]).select("step", "computing_us").row(0)
    (0, 99.999)
    >>> run.diagnose().verdict.sentence.en
    'The device of both ranks waits for the host, ...'
    """

    def __init__(self, ingested: Ingested) -> None:
        self.ingested = ingested
        self.windows = ingested.windows

    @property
    def store(self) -> RunStore:
        return self.ingested.store

    @property
    def window(self) -> str:
        return self.store.manifest.window

    @property
    def ranks(self) -> list[int]:  # type: ignore[override]  # the question is asked by name
        """Numbers of the ranks that were captured."""
        return self.store.ranks

    @property
    def notes(self) -> list[Note]:
        """What was dropped, repaired or missing, and what else there is to look at."""
        notes = self.store.notes()
        told = any(note.code == "paths_in_other_windows" for note in notes)
        return notes if told else [*notes, *self._other_windows()]

    def _other_windows(self) -> list[Note]:
        """For those who did not ask for this one, which is the newest."""
        others = [name for name in reversed(self.windows) if name != self.window]
        if not others or self.window != self.windows[-1]:
            return []
        named = ", ".join(others[:_WINDOWS_NAMED]) + (", …" if len(others) > _WINDOWS_NAMED else "")
        return [Note("other_windows", {"window": self.window, "windows": named}, count=len(others))]

    def table(self, name: str, ranks: Sequence[int] | None = None) -> pl.LazyFrame:
        """A table of the run, lazily; see docs/schema.md.

        >>> import stepscope
        >>> run = stepscope.load("traces", progress=False)
        >>> run.table("slices", ranks=[0]).filter(kind="kernel").collect().height
        12
        """
        if name not in schema.TABLES:
            raise UsageError("no_such_table", table=name, tables=", ".join(schema.TABLES))
        return self.store.scan(name, None if ranks is None else list(ranks))

    def sql(self, query: str) -> pl.DataFrame:
        """The result of a read-only SQL query over the tables.

        >>> import stepscope
        >>> run = stepscope.load("traces", progress=False)
        >>> run.sql("SELECT count(*) AS kernels FROM slices WHERE kind = 'kernel'").item()
        24
        """
        return select(self.store, query)

    def compare(
        self,
        *others: Run,
        ranks: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None),
        steps: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None),
        fail_if: Sequence[str] = (),
    ) -> Comparison:
        """This run against another, the last of several; ``ranks`` and ``steps`` choose parts of either side.

        Without another run two parts of this one are compared.

        >>> import stepscope
        >>> run = stepscope.load("traces", progress=False)
        >>> run.compare(ranks=([0], [1])).verdict.word
        'same'
        """
        from stepscope.compare.runs import compare_sides, named
        from stepscope.compare.side import Side

        runs = [self, *others] if others else [self, self]
        last = len(runs) - 1
        sides = [Side(run.store, "", ranks[number == last], steps[number == last]) for number, run in enumerate(runs)]
        return compare_sides(named(sides), fail_if)

    def report(self, *, questions: Sequence[str], ranks: Sequence[int] | None = None) -> RunReport:
        """Findings with pictures of their proofs, and answers to some questions, as far as the data have them."""
        from stepscope.diagnosis.pictures.memory import memory_pictures
        from stepscope.diagnosis.pictures.timeline import pictures_of
        from stepscope.report.run_report import RunReport

        answers = {}
        for name in ("diagnose", *questions):
            with contextlib.suppress(NoAnswerError):
                answers[name] = self.ask(name, ranks=ranks)
        findings = answers["diagnose"].data.findings
        return RunReport(
            self.describe(),
            self.store.scan("ranks").sort("rank").collect().to_dicts(),
            answers,
            [*self.notes, *(note for answer in answers.values() for note in answer.notes)],
            pictures_of(self.store, findings),
            memory_pictures(self.store, findings),
        )

    def _repr_html_(self) -> str:
        """The run in a notebook: its verdict, its findings, and where the step goes."""
        from stepscope.report.notebook import notebook_html

        return notebook_html(self.report(questions=("summary",)), preferred_language())

    def describe(self) -> dict[str, Any]:
        """What every ``--json`` document says about its run."""
        manifest = self.store.manifest
        return {
            "path": manifest.capture,
            "paths": [str(path) for path in self.ingested.paths],
            "window": manifest.window,
            "windows": self.windows,
            "ranks": self.ranks,
            "readers": sorted({part.reader for part in manifest.parts}),
            "schema_version": manifest.schema_version,
        }

    def __repr__(self) -> str:
        return f"<Run {self.window!r}: {len(self.ranks)} ranks, {self.store.manifest.rows('slices')} slices>"
