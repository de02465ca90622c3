"""``stepscope demo``: a real small training loop, and a simulated cluster with faults planted in it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stepscope.cli import notes
from stepscope.cli.options import Json, Language, Store, language
from stepscope.texts import text
from stepscope.texts.numbers import duration

if TYPE_CHECKING:
    from stepscope.run import Run

#: A slow rank, a slow link and a wrong clock on 16 ranks, with look-alikes that are innocent.
_SCENARIO: Final = "mixed"
RECORDED, SIMULATED = "recorded", "simulated"


def demo(
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("demo-output"),
    steps: Annotated[int, typer.Option(min=1, max=1000)] = 5,
    store: Store = None,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Record a real loop and show where its time goes; then diagnose a cluster whose faults are known."""
    import msgspec

    from stepscope.cli.training_loop import record
    from stepscope.diagnosis.planted import accused_beside, planted_faults
    from stepscope.report import json_document, planted, terminal
    from stepscope.run import load

    del lang

    def announce(version: str) -> None:
        if not json:
            terminal.say("demo_recording", language(), steps=steps, version=version)

    recorded = load(record(out / RECORDED, steps, announce), store=store)
    truth = _simulated(out / SIMULATED)
    cluster = load(out / SIMULATED, store=store)
    findings = cluster.diagnose().findings
    faults = planted_faults(truth["faults"], findings)
    if json:
        beside = [finding.id for finding in accused_beside(faults, findings)]
        captures = {"recorded": recorded.describe()["path"], "simulated": str(out / SIMULATED)}
        json_document.write_plain(
            "demo", {**captures, "planted": msgspec.to_builtins(faults), "accused_beside": beside}
        )
        return
    _show_recording(recorded)
    _show_cluster(cluster, truth, out / SIMULATED)
    _title(text("report.demo_planted", language()))
    planted.show(faults, accused_beside(faults, findings), language())
    terminal.say("demo_next", language(), program=typed_program(), recorded=out / RECORDED, simulated=out / SIMULATED)


def typed_program() -> str:
    """This command as it can be typed here: an environment that is not active has to be named."""
    started = Path(sys.argv[0])
    if shutil.which("stepscope") or started.name != "stepscope":
        return "stepscope"
    here = Path.cwd()
    return str(started.absolute().relative_to(here) if started.absolute().is_relative_to(here) else started)


def _title(words: str) -> None:
    from stepscope.report.console import echo

    echo(f"\n── {words}")


def _simulated(directory: Path) -> dict[str, Any]:
    """The cluster's truth; what an earlier demo left here is the same to the byte."""
    import msgspec

    from stepscope.simulate.scenario_files import load_scenario
    from stepscope.simulate.truth import FILE
    from stepscope.simulate.writing import simulate

    if not (directory / FILE).exists():
        simulate(load_scenario(_SCENARIO), directory)
    truth: dict[str, Any] = msgspec.json.decode((directory / FILE).read_bytes())
    return truth


def _show_recording(run: Run) -> None:
    from stepscope.report import operators, steps, summary

    operator_rows = run.ask("operators", by="operator", limit=12)
    for name, report, answer in (
        ("summary", summary, run.ask("summary")),
        ("steps", steps, run.ask("steps")),
        ("operators", operators, operator_rows),
    ):
        _title(f"stepscope {name} {RECORDED}")
        report.show(answer, language())
    notes.show(run, [])


def _show_cluster(run: Run, truth: dict[str, Any], path: Path) -> None:
    from stepscope.report import diagnose, terminal

    _title(f"stepscope simulate {_SCENARIO}")
    step = duration(truth["step_us"])
    terminal.say("simulated", language(), ranks=truth["world_size"], step=step, path=path)
    _title(f"stepscope {SIMULATED}")
    diagnose.show_glance(run.diagnose(), [str(path)], language())
