"""``stepscope simulate``: a training cluster on paper, with faults planted on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.options import Json, Language, language, one_of
from stepscope.texts.numbers import duration


def simulate(
    scenario: Annotated[str, typer.Argument(metavar="NAME|FILE.toml", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o")],
    ranks: Annotated[int | None, typer.Option(min=1)] = None,
    steps: Annotated[int | None, typer.Option(min=1, max=100_000)] = None,
    form: Annotated[
        str, one_of("store", "kineto", "ascend-text", "ascend-db", "ndtimeline", name="--format")
    ] = "store",
    detail: Annotated[str, one_of("full", "steps")] = "full",
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Simulate a distributed training job with planted faults, to try a plan or to test a diagnosis."""
    from stepscope.report import json_document, terminal
    from stepscope.report.progress import working
    from stepscope.simulate.scenario_files import load_scenario, resized
    from stepscope.simulate.writing import simulate as write

    del lang
    chosen = resized(load_scenario(scenario), ranks=ranks, steps=steps, seed=seed)
    with working(language()):
        done = write(chosen, out, form=form, detail=detail)
    told = done.truth
    if json:
        json_document.write_plain("simulate", {"path": str(out), "truth": told})
        return
    values = {"ranks": told["world_size"], "step": duration(told["step_us"]), "path": out}
    terminal.say("simulated", language(), **values)
    for fault in told["faults"]:
        cause = f" ({fault['cause']})" if fault["cause"] else ""
        cost = f"{fault['gain_share'] * 100:.1f}"
        terminal.say("simulated_fault", language(), kind=fault["kind"], cause=cause, cost=cost)
    terminal.say("simulated_next", language(), path=out)
