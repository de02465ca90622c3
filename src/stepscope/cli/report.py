"""``stepscope report``: what a run has to tell, as files for others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.options import Force, Form, Json, Language, Ranks, Redact, Store, Window, language, ranks_meant
from stepscope.cli.sides import Baseline, RankA, RankB, Sides, StepA, StepB, WindowA, WindowB
from stepscope.cli.written import tell_written
from stepscope.errors import UsageError

if TYPE_CHECKING:
    from stepscope.cli.report_files import Wanted

_DEFAULT_OUT = Path("report.html")


def report(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", "-o", show_default="report.html")] = None,
    compare: Annotated[bool, typer.Option("--compare")] = False,
    csv: Annotated[str | None, typer.Option("--csv", metavar="DIR")] = None,
    markdown: Annotated[bool, typer.Option("--markdown")] = False,
    issue: Annotated[int | None, typer.Option("--issue", metavar="N", min=1)] = None,
    redact: Redact = False,
    force: Force = False,
    rank: Ranks = None,
    rank_a: RankA = None,
    rank_b: RankB = None,
    step_a: StepA = None,
    step_b: StepB = None,
    window: Window = None,
    window_a: WindowA = None,
    window_b: WindowB = None,
    baseline: Baseline = None,
    source: Form = None,
    store: Store = None,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Write a report to share: one HTML file that opens anywhere, tables, or a text for CI or an issue tracker."""
    from stepscope.cli import report_files
    from stepscope.run import load

    del lang
    sides = Sides(
        (rank_a or rank, rank_b or rank), (step_a, step_b), (window_a or window, window_b or window), baseline
    )
    if not compare and (sides.differ or baseline is not None):
        raise UsageError("report_sides_of_comparison")
    if compare and issue is not None:
        raise UsageError("report_one_form")
    wanted = _wanted(paths, out, csv, markdown, issue, redact, force)
    if json and wanted.out is None and wanted.csv is None:
        raise UsageError("report_json_of_files")
    if compare:
        runs = sides.load(paths, source, store)
        written = report_files.write_comparison(runs, sides.compare(runs), wanted, language())
    else:
        run = load(paths, window=window, source=source, store=store)
        ranks = ranks_meant(run, rank)
        if issue is None:
            written = report_files.write_run(run, ranks, wanted, language())
        else:
            written = report_files.write_issue(run, ranks, issue, wanted, language())
    tell_written("report", written, json)


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
