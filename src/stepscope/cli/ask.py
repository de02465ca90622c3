"""What every command that asks a question of a run does, and the options that all of them take."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepscope.cli.notes import about
from stepscope.cli.notes import show as show_notes
from stepscope.cli.options import (
    Captures,
    Engine,
    Form,
    Groups,
    Json,
    Language,
    Parallel,
    Ranks,
    Store,
    Thresholds,
    Window,
    check_one_form,
    language,
    ranks_meant,
)
from stepscope.errors import NoAnswerError

if TYPE_CHECKING:
    from stepscope.run import Run

Steps = Annotated[list[int] | None, typer.Option("--step")]
CsvTarget = Annotated[str | None, typer.Option("--csv", metavar="[DIR]")]
Explain = Annotated[str | None, typer.Option(metavar="FIELD")]
STANDARD_OUTPUT = "-"


def ask(
    paths: Captures,
    rank: Ranks = None,
    step: Steps = None,
    window: Window = None,
    source: Form = None,
    store: Store = None,
    parallel: Parallel = None,
    groups: Groups = None,
    engine: Engine = None,
    thresholds: Thresholds = None,
    json: Json = False,
    csv: CsvTarget = None,
    explain: Explain = None,
    lang: Language = None,
    *,
    question: str,
    chosen: dict[str, Any],
) -> None:
    """Open the run, ask, and show the answer as the options say."""
    from stepscope.report import csv_tables, json_document, terminal
    from stepscope.report.progress import working
    from stepscope.run import load
    from stepscope.store.notes import Note

    del lang
    check_one_form(json=json, csv=csv is not None)
    check_one_form(explain=explain is not None, csv=csv is not None)
    run = load(paths, window=window, source=source, store=store, parallel=parallel, groups=groups, engine=engine)
    ranks = ranks_meant(run, rank)
    if explain is not None:
        _explain(run, question, explain, ranks, step, json)
        return
    if step is not None:
        chosen["steps"] = step
    try:
        with working(language()):
            answer = run.ask(question, ranks=ranks, **chosen)
    except NoAnswerError:
        # What is missing or damaged is often the reason; the error itself follows.
        show_notes(run, [], ranks)
        raise
    notes = about(ranks, answer.notes)
    if json:
        every = [*about(ranks, run.notes), *notes]
        json_document.write(question, run.describe(), every, answer.plain(), language(), **answer.plain_beside())
        return
    if csv is not None:
        frames = csv_tables.tables(question, answer)
        for written in csv_tables.write(frames, None if csv == STANDARD_OUTPUT else Path(csv)):
            terminal.show_written(written, language())
        if csv == STANDARD_OUTPUT and len(frames) > 1:
            notes.append(Note("csv_other_tables", {"tables": ", ".join(list(frames)[1:])}, count=len(frames) - 1))
    else:
        _show_first_line(run, question, ranks)
        words = _words_for(run, paths, {"source": source, "store": store, "thresholds": thresholds})
        _show(question, answer, {"run": words, "view_command": _view_command(run, paths, words)})
    show_notes(run, notes, ranks)


def _show_first_line(run: Run, question: str, ranks: list[int] | None) -> None:
    """What the run's findings say about this question."""
    from stepscope.diagnosis.first_line import first_line
    from stepscope.report.diagnose import show_sentence

    sentence = first_line(run.diagnose(ranks=ranks), question)
    if sentence is not None:
        show_sentence(sentence, language())


def _words_for(run: Run, paths: list[Path], options: dict[str, Path | str | None]) -> str:
    """What a command has to be told to ask this run."""
    if run.window != run.windows[-1]:
        options = {"window": run.window, **options}
    further = [f"--{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None]
    return " ".join([*(shlex.quote(str(path)) for path in paths), *further])


def _view_command(run: Run, paths: list[Path], words: str) -> str | None:
    """What opens the pages of this run: they show several paths as several runs, and of a directory the newest."""
    return None if len(paths) > 1 or run.window != run.windows[-1] else f"stepscope view {words}"


def _show(name: str, answer: Any, further: dict[str, str | None]) -> None:
    """By the question's own report, which may want to know how to see more; a plain list needs none."""
    from stepscope.questions import QUESTIONS
    from stepscope.report import csv_tables, tables

    module = f"stepscope.report.{name.replace('-', '_')}"
    if importlib.util.find_spec(module) is not None:
        show = importlib.import_module(module).show
        wanted = inspect.signature(show).parameters
        show(answer, language(), **{name: value for name, value in further.items() if name in wanted})
        return
    question = QUESTIONS[name]
    rows = tuple.__class_getitem__((question.type, *question.beside.values()))
    for frame in csv_tables.tables(name, answer).values():
        tables.show_table(frame, rows, language())


def _explain(run: Any, name: str, field: str, rank: list[int] | None, step: list[int] | None, json: bool) -> None:
    import msgspec

    from stepscope.questions.explain import explain
    from stepscope.report import explain as report
    from stepscope.report import json_document

    explanation = explain(run.store, name, field, rank, step)
    if json:
        json_document.write("explain", run.describe(), run.notes, msgspec.to_builtins(explanation), language())
    else:
        report.show(explanation, language())


def with_csv_target(arguments: list[str]) -> list[str]:
    """``--csv`` may stand without a directory, which click does not know; then standard output is meant."""
    completed: list[str] = []
    for index, argument in enumerate(arguments):
        completed.append(argument)
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        if argument == "--csv" and (following is None or following.startswith("-") or Path(following).is_file()):
            completed.append(STANDARD_OUTPUT)
    return completed
