"""``stepscope report``: what a run has to tell, as files for others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.options import Form, Language, Ranks, Store, Window, language
from stepscope.errors import UsageError

if TYPE_CHECKING:
    from stepscope.cli.report_files import Wanted

_DEFAULT_OUT = Path("report.html")

Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Replace hosts, users and directories by host-1, user-1, dir-1 … in everything that is written.",
    ),
]


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Trace files or directories; all of them together are one run. With --compare, the runs to compare.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write: .html, .xlsx or .md; a directory with --issue.",
            show_default="report.html",
        ),
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Report on the comparison of the runs.")] = False,
    csv: Annotated[str | None, typer.Option("--csv", metavar="DIR", help="Write all tables as CSV files.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a summary for CI, at most 60 lines.")] = False,
    issue: Annotated[
        int | None,
        typer.Option(
            "--issue",
            metavar="N",
            min=1,
            help="Finding N as a text for an issue tracker; -o DIR adds an excerpt of the trace.",
        ),
    ] = None,
    redact: Redact = False,
    force: Annotated[bool, typer.Option(help="Replace existing output.")] = False,
    rank: Ranks = None,
    window: Window = None,
    source: Form = None,
    store: Store = None,
    lang: Language = None,
) -> None:
    """Write a report to share: one HTML file that opens anywhere, tables, or a text for CI or an issue tracker.

    Example: stepscope report traces/ -o report.html
    """
    from stepscope.cli import report_files
    from stepscope.run import load

    del lang
    wanted = _wanted(paths, out, csv, markdown, issue, redact, force)
    if compare:
        if issue is not None:
            raise UsageError("report_one_form")
        runs = [load([path], window=window, source=source, store=store) for path in paths]
        if len(runs) == 1:
            raise UsageError("compare_needs_two")
        report_files.write_comparison(runs, runs[0].compare(*runs[1:], ranks=(rank, rank)), wanted, language())
        return
    run = load(paths, window=window, source=source, store=store)
    if issue is None:
        report_files.write_run(run, rank, wanted, language())
    else:
        report_files.write_issue(run, rank, issue, wanted, language())


def _wanted(
    paths: list[Path],
    out: Path | None,
    csv: str | None,
    markdown: bool,
    issue: int | None,
    redact: bool,
    force: bool,
) -> Wanted:
    """What to write, checked before anything is read."""
    from stepscope.cli.ask import STANDARD_OUTPUT
    from stepscope.cli.report_files import Wanted, check

    if csv == STANDARD_OUTPUT:
        raise UsageError("report_csv_needs_directory")
    if issue is not None and (csv is not None or markdown):
        raise UsageError("report_one_form")
    if out is None and csv is None and not markdown and issue is None:
        out = _DEFAULT_OUT
    wanted = Wanted(paths, out, None if csv is None else Path(csv), markdown, redact, force)
    check(wanted, directory=issue is not None)
    return wanted
