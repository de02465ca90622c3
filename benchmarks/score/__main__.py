"""``make score``: precision, recall and gain error of the diagnosis on simulated runs (docs/score.md)."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from score.cases import HEALTHY, Case, read_cases
from score.judging import Outcome, judge
from score.report import misses, tables

_HERE: Final = Path(__file__).resolve().parent
_DOCUMENT: Final = _HERE.parents[1] / "docs" / "score.md"
#: Jobs by their ranks: those that take seconds, up to a minute, and minutes.
_QUICK_RANKS, _MIDDLE_RANKS = 100, 300
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


def main() -> None:
    options = _options()
    if options.tables:
        order = {case.name: position for position, case in enumerate(read_cases(options.file))}
        outcomes = [outcome for file in options.tables for outcome in _read(file) if outcome.name in order]
        _tell(sorted(outcomes, key=lambda outcome: order[outcome.name]), write=options.write)
        return
    ranks = range(options.least_ranks, options.most_ranks + 1)
    cases = selected(read_cases(options.file), options.kind, options.strength, ranks, options.count)
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        known = _known(options.results)
        left = [case for case in evenly(cases) if case.name not in known]
        known |= {outcome.name: outcome for outcome in _judged(left, directory, options)}
    _tell([known[case.name] for case in cases if case.name in known], write=options.write)


def _known(results: Path | None) -> dict[str, Outcome]:
    """Outcomes by name that an earlier run, which was ended, had written down."""
    if results is None or not results.exists():
        return {}
    return {outcome.name: outcome for outcome in _read(results)}


def _read(file: Path) -> list[Outcome]:
    """What a file holds. Half a line, which a run that was killed left behind, is no outcome: its case is run again."""
    outcomes = []
    for line in file.read_bytes().splitlines():
        with suppress(msgspec.DecodeError):
            outcomes.append(msgspec.json.decode(line, type=Outcome))
    return outcomes


def _tell(outcomes: Sequence[Outcome], *, write: bool) -> None:
    table = tables(outcomes) + "\n\n" + misses(outcomes)
    print(table)
    if write:
        _write(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="score", description=__doc__)
    parser.add_argument("--file", type=Path, default=_HERE / "score.toml", help="whose cases are run")
    parser.add_argument("--kind", action="append", help="only cases of a kind, or 'healthy', 'mixed'; may be repeated")
    parser.add_argument("--strength", action="append", help="only 'mild', 'clear' or 'strong' faults; may be repeated")
    parser.add_argument("--most-ranks", type=int, default=1 << 20, help="only jobs up to this size")
    parser.add_argument("--least-ranks", type=int, default=1, help="only jobs from this size on")
    parser.add_argument("--count", type=int, help="at most so many cases of a kind, cause and strength")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="keep simulated runs here, and take those that lie there")
    parser.add_argument(
        "--results",
        type=Path,
        help="add each outcome to a file, as a line of JSON; those that are in it are not run again",
    )
    parser.add_argument("--tables", type=Path, action="append", help="run nothing: the table of such files")
    parser.add_argument("--show", choices=("none", "misses", "all"), default="misses", help="outcomes as they come")
    parser.add_argument("--write", action="store_true", help="put the table into docs/score.md")
    return parser.parse_args()


def selected(
    cases: Sequence[Case],
    kinds: Sequence[str] | None = None,
    strengths: Sequence[str] | None = None,
    ranks: range = range(1, 1 << 20),
    count: int | None = None,
) -> list[Case]:
    """Some of the cases."""
    taken: Counter[tuple[str, str, str]] = Counter()
    chosen = []
    for case in cases:
        label = (case.group, case.cause, case.strength)
        wanted = (not kinds or case.group in kinds) and (not strengths or case.strength in strengths)
        if wanted and case.scenario.world in ranks and (count is None or taken[label] < count):
            taken[label] += 1
            chosen.append(case)
    return chosen


def evenly(cases: Sequence[Case]) -> list[Case]:
    """Cases in waves, and in a wave the same share of each kind, cause and strength, and of each healthy job.

    So a run that is ended early has looked at everything, and most often at what limits are set for.
    """
    labels = [
        (_wave(case), case.group, case.cause, case.strength, case.topology if case.group == HEALTHY else "")
        for case in cases
    ]
    of_label, seen = Counter(labels), Counter[tuple[object, ...]]()
    order: list[tuple[int, float, int]] = []
    for position, label in enumerate(labels):
        order.append((label[0], seen[label] / of_label[label], position))
        seen[label] += 1
    return [cases[position] for _, _, position in sorted(order)]


def _wave(case: Case) -> int:
    """Clear and mild faults and healthy jobs come first, then larger jobs, strong faults, and the largest jobs."""
    if case.scenario.world > _MIDDLE_RANKS:
        return 3
    if case.scenario.world > _QUICK_RANKS:
        return 1
    return 2 if case.strength == "strong" else 0


def _judged(cases: Sequence[Case], directory: Path, options: argparse.Namespace) -> Iterator[Outcome]:
    """Outcomes as they come, from several processes."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # of the processes: each has a core
    one = partial(judge, directory=directory, keep=options.keep is not None)
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(one, case) for case in cases]
        for number, future in enumerate(as_completed(futures), 1):
            outcome = future.result()
            _show(outcome, f"{number}/{len(cases)}", options.show)
            if options.results:
                _note(outcome, options.results)
            yield outcome


def _note(outcome: Outcome, results: Path) -> None:
    """Behind half a line the next outcome begins a new one."""
    with results.open("a+b") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(msgspec.json.encode(outcome) + b"\n")


def _show(outcome: Outcome, progress: str, which: str) -> None:
    bad = outcome.possible and (outcome.missed or outcome.wrong)
    if which == "none" or (which == "misses" and not bad):
        print(f"\r{progress}", end="", file=sys.stderr, flush=True)
        return
    print(f"\r{progress} {outcome.name} {outcome.topology} {outcome.when}", file=sys.stderr)
    print(f"    truth {outcome.truth[:6]} gain {outcome.true_gain}", file=sys.stderr)
    for line in outcome.told:
        print(f"    {line}", file=sys.stderr)


def _write(table: str) -> None:
    """Between its two marks, with the words around it as they are."""
    before, rest = _DOCUMENT.read_text("utf-8").split(_BEGIN)
    _, after = rest.split(_END)
    _DOCUMENT.write_text(f"{before}{_BEGIN}\n\n{table}\n\n{_END}{after}", "utf-8")


if __name__ == "__main__":
    main()
