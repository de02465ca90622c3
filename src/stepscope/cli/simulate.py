"""``stepscope simulate``: a training cluster on paper, with faults planted on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.options import Language, language


def simulate(
    scenario: Annotated[
        str, typer.Argument(metavar="NAME|FILE.toml", help="A scenario of the library, or a file.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="New directory for the run and its truth.json.")],
    ranks: Annotated[int | None, typer.Option(min=1, help="Ranks in all; data parallelism follows.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, max=100_000, help="Steps to record.")] = None,
    form: Annotated[
        str,
        typer.Option("--format", help="store (opens at once), kineto, ascend-text, ascend-db or ndtimeline."),
    ] = "store",
    detail: Annotated[str, typer.Option(help="full, or steps: stretches of compute between communication.")] = "full",
    seed: Annotated[int | None, typer.Option(min=0, help="Another seed gives other noise.")] = None,
    lang: Language = None,
) -> None:
    """Simulate a distributed training job with planted faults, to try a plan or to test a diagnosis."""
    from stepscope.report import terminal
    from stepscope.simulate.scenario import load_scenario, resized
    from stepscope.simulate.writing import simulate as write

    del lang
    chosen = resized(load_scenario(scenario), ranks=ranks, steps=steps, seed=seed)
    done = write(chosen, out, form=form, detail=detail)
    told = done.truth
    values = {"ranks": told["world_size"], "step_ms": f"{told['step_us'] / 1000:.1f}", "path": out}
    terminal.say("simulated", language(), **values)
    for fault in told["faults"]:
        cause = f" ({fault['cause']})" if fault["cause"] else ""
        cost = f"{fault['gain_share'] * 100:.1f}"
        terminal.say("simulated_fault", language(), kind=fault["kind"], cause=cause, cost=cost)
    terminal.say("simulated_next", language(), path=out)
