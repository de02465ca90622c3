"""Simulated jobs of many ranks, straight from the store: the first answer, its growth with the ranks, the kept one."""

from __future__ import annotations

import argparse
from pathlib import Path

from measure import Measured, measure
from results import Row

RANKS = (64, 256, 1024)
STEPS = 5
_SCENARIO = """
extends = "cluster"
about = "One slow rank of many"
faults = [{ kind = "slow_rank", cause = "compute", ranks = [37] }]
"""
_SIMULATE = """
scenario = resized(load_scenario({scenario!r}), ranks={ranks}, steps={steps}, seed=None)
simulate(scenario, Path({out!r}), detail="steps")
"""
_ASK = """
run = stepscope.load({job!r}, progress=False)
for question in {questions!r}:
    run.ask(question)
result = len(run.ranks)
"""


def run(data: Path, sizes: tuple[int, ...] = RANKS) -> list[Row]:
    """CPU seconds and peak of ``cluster`` and ``diagnose`` for each number of ranks."""
    rows = []
    for ranks in sizes:
        what = f"{ranks:,} ranks × {STEPS} steps, simulated"
        if not _job_folder(data, ranks).exists():
            rows.append(_row(f"simulate, {what}", _simulated(data, ranks), "≤ 60" if ranks == RANKS[-1] else ""))
        job = simulated_job(data, ranks)
        _forget(job)
        first = _asked(job, "cluster")
        rows.append(_row(f"cluster, {what}", first, "≤ 60" if ranks == RANKS[-1] else ""))
        rows.append(Row(f"cluster, {what}: per rank", 1000 * first.cpu_s / ranks, "CPU ms", "", None, ""))
        rows.append(_row(f"diagnose, {what}", _asked(job, "diagnose"), ""))
        _asked(job, "communication", "collectives")
        again = _asked(job, "cluster", "ranks", "diagnose", "communication", "collectives")
        rows.append(_row(f"all five again, opening included, {what}", again, "≤ 1"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parent / "data")
    options = parser.parse_args()
    for row in run(options.data, tuple(options.ranks)):
        print(row.markdown(), flush=True)


def simulated_job(data: Path, ranks: int) -> Path:
    """The simulated job, written unless it is there."""
    job = _job_folder(data, ranks)
    if not job.exists():
        _simulated(data, ranks)
    return job


def _job_folder(data: Path, ranks: int) -> Path:
    return data / f"simulated-{ranks}x{STEPS}"


def _simulated(data: Path, ranks: int) -> Measured:
    """What it takes to write the job."""
    data.mkdir(parents=True, exist_ok=True)
    scenario = data / "one-slow-rank.toml"
    scenario.write_text(_SCENARIO, "utf-8")
    code = _SIMULATE.format(scenario=str(scenario), ranks=ranks, steps=STEPS, out=str(_job_folder(data, ranks)))
    setup = "from pathlib import Path\nfrom stepscope.simulate.scenario_files import load_scenario, resized\n"
    return measure(code, setup + "from stepscope.simulate.writing import simulate")


def _forget(job: Path) -> None:
    """What was kept of earlier answers."""
    for name in ("cluster", "diagnosis", "communication", "collectives"):
        (job / f"{name}.json").unlink(missing_ok=True)


def _asked(job: Path, *questions: str) -> Measured:
    return measure(_ASK.format(job=str(job), questions=questions), "import stepscope")


def _row(what: str, measured: Measured, budget: str) -> Row:
    return Row(what, measured.cpu_s, "CPU s", budget, measured.peak_mb, "")


if __name__ == "__main__":
    main()
