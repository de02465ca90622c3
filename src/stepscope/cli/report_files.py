"""Reports as files: which form goes where, with or without names in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepscope.errors import UsageError
from stepscope.report.console import echo

if TYPE_CHECKING:
    import polars as pl

    from stepscope.compare.comparison import Comparison
    from stepscope.run import Run

#: What the page of a run shows.
_SHOWN: Final = ("summary", "steps", "operators", "communication", "memory")
_PAGE_ENDINGS: Final = (".html", ".htm")
_ENDINGS: Final = (*_PAGE_ENDINGS, ".xlsx", ".md")
_ISSUE_FILE: Final = "issue.md"
_EXCERPT_FILE: Final = "excerpt.json"


@dataclass(frozen=True)
class Wanted:
    """What to write where; ``captures`` are the paths that were read, where nothing may be written."""

    captures: Sequence[Path]
    out: Path | None
    csv: Path | None = None
    markdown: bool = False
    redact: bool = False
    force: bool = False

    @property
    def ending(self) -> str:
        return "" if self.out is None else self.out.suffix.lower()

    @property
    def tables(self) -> bool:
        return self.csv is not None or self.ending == ".xlsx"


def check(wanted: Wanted, directory: bool = False) -> None:
    """Refuse what could not be written, before anything is read."""
    from stepscope.deliver.placing import check_outside
    from stepscope.report import workbook

    for target in (wanted.out, wanted.csv):
        if target is not None:
            check_outside(target, wanted.captures)
            if target.exists() and not wanted.force:
                raise UsageError("out_exists", path=str(target))
    if wanted.out is not None and not directory and wanted.ending not in _ENDINGS:
        raise UsageError("unknown_report_ending", path=str(wanted.out))
    if wanted.ending == ".xlsx" and not directory:
        workbook.check_installed()


def write_run(run: Run, ranks: Sequence[int] | None, wanted: Wanted, lang: str) -> list[Path]:
    """A run in all the forms that were asked for; which files that made."""
    from stepscope.report.csv_tables import tables
    from stepscope.report.html import rendered
    from stepscope.report.html.run_page import run_page
    from stepscope.report.markdown import markdown
    from stepscope.report.progress import working

    with working(lang):
        report = run.report(questions=_all_questions() if wanted.tables else _SHOWN, ranks=ranks)
    if wanted.redact:
        report = redacted_answer([run], report)
    return _write_forms(
        wanted,
        lambda: {key: t for name, answer in report.answers.items() for key, t in tables(name, answer).items()},
        lambda: rendered(run_page(report, lang)),
        lambda: markdown(report, lang),
    )


def write_comparison(runs: Sequence[Run], comparison: Comparison, wanted: Wanted, lang: str) -> list[Path]:
    """The same of a comparison, of these runs."""
    from stepscope.analysis.answer import Answer
    from stepscope.report.compare import markdown
    from stepscope.report.csv_tables import tables
    from stepscope.report.html import rendered
    from stepscope.report.html.comparison_page import comparison_page

    if wanted.redact:
        comparison = redacted_answer(runs, comparison)
    return _write_forms(
        wanted,
        lambda: tables("compare", Answer(comparison)),
        lambda: rendered(comparison_page(comparison, lang)),
        lambda: markdown(comparison, lang),
    )


def write_issue(run: Run, ranks: Sequence[int] | None, number: int, wanted: Wanted, lang: str) -> list[Path]:
    """One finding as a text, with an excerpt of the trace beside it where a directory is given."""
    from stepscope.deliver import chrome_trace
    from stepscope.deliver.excerpt import excerpt
    from stepscope.deliver.placing import place
    from stepscope.deliver.redacted_values import redacted_value
    from stepscope.deliver.redaction import pseudonyms_of, redacted
    from stepscope.report.issue import finding_numbered, issue

    report, store = run.report(questions=(), ranks=ranks), run.store
    finding = finding_numbered(report, number)
    picture = next((picture for picture in report.pictures if picture.finding == finding.id), None)
    if wanted.redact:
        names = pseudonyms_of(store)
        report, store = redacted_value(names, report), redacted(store, names)
    if wanted.out is None:
        echo(issue(report, number, lang, None))
        return []

    def write(directory: Path) -> None:
        directory.mkdir()
        if picture is not None:
            stretch = excerpt(store, picture.rank, picture.start_ns, picture.start_ns + picture.dur_ns)
            chrome_trace.write(stretch, [picture.rank], directory / _EXCERPT_FILE, zipped=False)
        words = issue(report, number, lang, None if picture is None else _EXCERPT_FILE)
        (directory / _ISSUE_FILE).write_text(words + "\n", "utf-8")

    return [place(wanted.out, wanted.force, write)]


def _all_questions() -> list[str]:
    """Those that need nothing but the run."""
    from stepscope.questions import QUESTIONS

    return [
        name for name in QUESTIONS if name != "diagnose" and not any(each.words for each in QUESTIONS[name].parameters)
    ]


def redacted_answer(runs: Sequence[Run], value: Any) -> Any:
    """A value that these runs gave, without names of hosts, users and directories."""
    from stepscope.deliver.redacted_values import redacted_value
    from stepscope.deliver.redaction import pseudonyms_of

    return redacted_value(pseudonyms_of(*(run.store for run in runs)), value)


def _write_forms(
    wanted: Wanted, frames: Callable[[], dict[str, pl.DataFrame]], page: Callable[[], str], words: Callable[[], str]
) -> list[Path]:
    """The forms that were asked for, each made only then; which files that gave."""
    written = _write_tables(wanted, frames)
    if wanted.ending in _PAGE_ENDINGS:
        written += _write_text(wanted, page())
    if wanted.ending == ".md":
        written += _write_text(wanted, words() + "\n")
    elif wanted.markdown:
        echo(words())
    return written


def _write_tables(wanted: Wanted, frames: Callable[[], dict[str, pl.DataFrame]]) -> list[Path]:
    from stepscope.deliver.placing import place
    from stepscope.report import csv_tables, workbook

    if not wanted.tables:
        return []
    by_name = frames()
    written = []
    if wanted.csv is not None:
        written.append(place(wanted.csv, wanted.force, lambda draft: csv_tables.write(by_name, draft)))
    if wanted.out is not None and wanted.ending == ".xlsx":
        written.append(place(wanted.out, wanted.force, lambda draft: workbook.write(by_name, draft)))
    return written


def _write_text(wanted: Wanted, words: str) -> list[Path]:
    from stepscope.deliver.placing import place

    if wanted.out is None:
        return []
    return [place(wanted.out, wanted.force, lambda draft: draft.write_text(words, "utf-8"))]
