"""``stepscope compare``: two runs side by side, or several in a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.options import Form, Json, Language, Store, language
from stepscope.errors import UsageError

if TYPE_CHECKING:
    from stepscope.run import Run

_GATE_FAILED = 4


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="A B …", help="The runs to compare, the older first; one path if both are parts of it."),
    ],
    rank: Annotated[
        list[int] | None, typer.Option("--rank", help="Compare only this rank; repeat for several.")
    ] = None,
    rank_a: Annotated[list[int] | None, typer.Option("--rank-a", help="The rank of A.")] = None,
    rank_b: Annotated[list[int] | None, typer.Option("--rank-b", help="The rank of B.")] = None,
    step: Annotated[
        list[int] | None, typer.Option("--step", help="Compare only this step; repeat for several.")
    ] = None,
    step_a: Annotated[list[int] | None, typer.Option("--step-a", help="The step of A.")] = None,
    step_b: Annotated[list[int] | None, typer.Option("--step-b", help="The step of B.")] = None,
    window_a: Annotated[
        str | None, typer.Option("--window-a", help="Which capture of A, if a directory holds several.")
    ] = None,
    window_b: Annotated[
        str | None, typer.Option("--window-b", help="Which capture of B, if a directory holds several.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="Compare with this saved run as A.")
    ] = None,
    save_baseline: Annotated[
        str | None, typer.Option("--save-baseline", metavar="NAME", help="Save the last run under this name.")
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="GATE",
            help="Exit with 4 on slower:5%, memory:+2GiB, finding:critical or new-finding; repeat for several.",
        ),
    ] = None,
    source: Form = None,
    store: Store = None,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a summary for a pull request.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page to share; stepscope report --compare --redact hides names in it.",
        ),
    ] = None,
    lang: Language = None,
) -> None:
    """Compare two runs, ranks or steps: what got slower or faster, why, and whether it is more than noise.

    Example: stepscope compare before.json.gz after.json.gz --fail-if slower:5%
    """
    import msgspec

    from stepscope.cli import report_files
    from stepscope.compare.gates import checked_gates
    from stepscope.report import compare as report
    from stepscope.report import json_document
    from stepscope.store.baselines import save_baseline as save

    del lang
    checked_gates(fail_if or [])  # before anything is read
    page = report_files.Wanted(paths, html)
    report_files.check(page)
    chosen = [rank_a or rank, rank_b or rank], [step_a or step, step_b or step], [window_a, window_b]
    runs = _loaded(paths, baseline, (window_a, window_b), source, store)
    if save_baseline is not None:
        save(save_baseline, runs[-1].ingested.paths, runs[-1].window)
        report.show_saved(save_baseline, runs[-1].describe()["path"], language())
    if len(runs) == 1 and not any(one != other for one, other in chosen):
        if save_baseline is None:
            raise UsageError("compare_needs_two")
        return
    comparison = runs[0].compare(
        *runs[1:], ranks=(rank_a or rank, rank_b or rank), steps=(step_a or step, step_b or step), fail_if=fail_if or ()
    )
    if html is not None:
        report_files.write_comparison(runs, comparison, page, language())
    elif json:
        described = {"a": runs[0].describe(), "b": runs[-1].describe()}
        notes = [*runs[0].notes, *(runs[-1].notes if len(runs) > 1 else [])]
        json_document.write("compare", described, notes, msgspec.to_builtins(comparison), language())
    elif markdown:
        typer.echo(report.markdown(comparison, language()))
    else:
        report.show(comparison, language())
    if any(gate.failed for gate in comparison.gates):
        raise typer.Exit(_GATE_FAILED)


def _loaded(
    paths: list[Path],
    baseline: str | None,
    windows: tuple[str | None, str | None],
    source: str | None,
    store: Path | None,
) -> list[Run]:
    """The runs in their order. A second window of one path is a run of its own."""
    from stepscope.run import load
    from stepscope.store.baselines import baseline as saved

    runs = []
    if baseline is not None:
        before = saved(baseline)
        runs.append(load(before.paths, window=before.window, source=source, store=store))
    for number, path in enumerate(paths):
        last = number == len(paths) - 1 and (len(paths) > 1 or baseline is not None)
        runs.append(load([path], window=windows[last], source=source, store=store))
    if len(runs) == 1 and windows[0] != windows[1]:
        runs.append(load(paths, window=windows[1], source=source, store=store))
    return runs
