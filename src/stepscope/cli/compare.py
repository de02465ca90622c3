"""``stepscope compare``: two runs side by side, or several in a row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.options import Force, Form, Json, Language, Ranks, Redact, Store, check_one_form, language
from stepscope.cli.sides import Baseline, RankA, RankB, Sides, StepA, StepB, WindowA, WindowB

_GATE_FAILED = 4


def compare(
    paths: Annotated[list[Path], typer.Argument(metavar="A B", show_default=False)],
    rank: Ranks = None,
    rank_a: RankA = None,
    rank_b: RankB = None,
    step: Annotated[list[int] | None, typer.Option("--step")] = None,
    step_a: StepA = None,
    step_b: StepB = None,
    window_a: WindowA = None,
    window_b: WindowB = None,
    baseline: Baseline = None,
    save_baseline: Annotated[str | None, typer.Option("--save-baseline", metavar="NAME")] = None,
    fail_if: Annotated[list[str] | None, typer.Option("--fail-if", metavar="GATE")] = None,
    source: Form = None,
    store: Store = None,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown")] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE")] = None,
    redact: Redact = False,
    force: Force = False,
    lang: Language = None,
) -> None:
    """Compare two runs, ranks or steps: what got slower or faster, why, and whether it is more than noise."""
    import msgspec

    from stepscope.cli import report_files
    from stepscope.cli.written import tell_written
    from stepscope.compare.gates import checked_gates
    from stepscope.report import compare as report
    from stepscope.report import json_document
    from stepscope.store.baselines import save_baseline as save

    del lang
    check_one_form(json=json, markdown=markdown)
    check_one_form(html=html is not None, markdown=markdown)
    checked_gates(fail_if or [])  # before anything is read
    page = report_files.Wanted(paths, html, force=force)
    report_files.check(page)
    sides = Sides((rank_a or rank, rank_b or rank), (step_a or step, step_b or step), (window_a, window_b), baseline)
    runs = sides.load(paths, source, store)
    if save_baseline is not None:
        save(save_baseline, runs[-1].ingested.paths, runs[-1].window)
        report.show_saved(save_baseline, runs[-1].describe()["path"], language())
        if len(runs) == 1 and not sides.differ:
            return
    comparison = sides.compare(runs, fail_if or ())
    described = {"a": runs[0].describe(), "b": runs[-1].describe()}
    notes = [*runs[0].notes, *(runs[-1].notes if len(runs) > 1 else [])]
    if redact:
        comparison, described, notes = report_files.redacted_answer(runs, (comparison, described, notes))
    if html is not None:
        tell_written("compare", report_files.write_comparison(runs, comparison, page, language()), json)
    elif json:
        json_document.write("compare", described, notes, msgspec.to_builtins(comparison), language())
    elif markdown:
        typer.echo(report.markdown(comparison, language()))
    else:
        report.show(comparison, language())
    if any(gate.failed for gate in comparison.gates):
        raise typer.Exit(_GATE_FAILED)
