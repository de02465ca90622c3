"""Damages and reads captures, round by round: ``python damaged_rounds.py FIRST COUNT``.

Prints a line of JSON for each finished round. A round that hangs ends this process: the kernel sees to that, also
inside compiled code. So the first round without a line is the one to blame.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

import stepscope
from soak.damage import damaged
from soak.small_captures import small_captures
from stepscope.engine.rank_task import RankTask, run
from stepscope.errors import StepscopeError
from stepscope.questions import QUESTIONS
from stepscope.readers.discovery.windows import windows
from stepscope.store.fingerprint import fingerprint
from stepscope.store.run_store import Part
from support.limits import HANGS_AFTER_S, PeakMemory
from support.samples import SHARED_DATA

MOST_CPU_SECONDS = 20
MOST_BYTES = 1 << 30
_SAFE_BYTES = 4 << 30  # beyond this the process may not grow at all
_ASK_EVERY = 100
_MOST_ORIGINAL_BYTES = 400_000
_MADE_HERE_SHARE = 0.8
_NOTHING_LEFT_BYTES = 64  # of a file among others that says no longer what it was


@dataclass
class Outcome:
    """What became of one round."""

    number: int
    result: str  # read, refused or failed
    file: str
    cut_rows: bool = False  # rows behind the cut are missing
    asked: bool = False
    seconds: float = 0.0
    bytes: int = 0
    fault: str = ""  # of a kind: the place where it happened
    details: str = ""


class Captures:
    """What is damaged: one of each format made here, and real files where they are present."""

    def __init__(self, root: Path) -> None:
        self.made = small_captures(root)
        small = (path for path in SHARED_DATA.rglob("*") if path.is_file())
        self.real = sorted(
            path
            for path in small
            if path.suffix in (".json", ".gz", ".pickle", ".db") and path.stat().st_size < _MOST_ORIGINAL_BYTES
        )
        self._contents: dict[Path, tuple[int, Counter[str]]] = {}

    def choose(self, dice: random.Random) -> Path:
        return dice.choice(self.made if dice.random() < _MADE_HERE_SHARE else [*self.made, *self.real])

    def content(self, capture: Path, folder: Path) -> tuple[int, Counter[str]]:
        """Rows and notes of the whole capture; none where it is no capture."""
        if capture not in self._contents:
            try:
                self._contents[capture] = read(capture, folder)
            except StepscopeError:
                self._contents[capture] = 0, Counter()
        return self._contents[capture]


def read(capture: Path, store: Path) -> tuple[int, Counter[str]]:
    """Rows of all tables of the newest window, and its notes by code; each rank as the engine reads it."""
    window = windows(capture)[-1]
    rows, notes = 0, Counter({note.code: note.count for note in window.notes.all()})
    for source in window.sources:
        part: Part = run(RankTask(source, fingerprint(source.files), store, "soak"))
        rows += sum(count for table, files in part.tables.items() if table != "notes" for count in files.values())
        for name in part.tables.get("notes", {}):
            frame = pl.read_parquet(store / name)
            for code, count in frame.select("code", "count").iter_rows():
                notes[code] += count
    return rows, notes


def ask_everything(capture: Path, store: Path) -> None:
    run_of_it = stepscope.load(capture, store=store, progress=False)
    for name in QUESTIONS:
        try:
            run_of_it.ask(name)
        except StepscopeError as error:
            assert error.message("zh")


def one_round(number: int, captures: Captures, folder: Path) -> Outcome:
    """Damage one file of one capture and read it; now and then ask all questions."""
    dice = random.Random(number)
    original = captures.choose(dice)
    expected_rows, expected_notes = captures.content(original, folder / "whole")
    capture = folder / "capture" / original.name
    capture.parent.mkdir()
    (shutil.copytree if original.is_dir() else shutil.copy)(original, capture)
    file = dice.choice(sorted(path for path in capture.rglob("*") if path.is_file()) or [capture])
    content, only_cut = damaged(file.read_bytes(), dice)
    file.write_bytes(content)
    outcome = Outcome(number, "failed", str(file.relative_to(capture.parent)))
    began = time.process_time()
    with PeakMemory() as memory, _ended_by_the_kernel():
        try:
            rows, notes = read(capture, folder / "store")
            outcome.result = "read"
            is_cut = only_cut and len(content) > _NOTHING_LEFT_BYTES and not content.endswith(b"\n")
            if is_cut and rows < expected_rows:
                outcome.cut_rows = True
                if notes <= expected_notes:
                    outcome.fault, outcome.details = f"silent {file.name}", f"{rows} of {expected_rows} rows"
            if number % _ASK_EVERY == 0:
                outcome.asked = True
                ask_everything(capture, folder / "asked")
        except StepscopeError as error:
            outcome.result = "refused"
            if not error.message("zh") or error.code in ("internal", "cannot_write_store"):
                outcome.fault, outcome.details = str(error)[:60], str(error)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            outcome.result, outcome.fault = "failed", f"{type(error).__name__} {last.filename}:{last.lineno}"
            outcome.details = "".join(traceback.format_exception(error)[-6:])
    outcome.seconds, outcome.bytes = time.process_time() - began, memory.grown_bytes
    if outcome.bytes > MOST_BYTES:
        outcome.fault, outcome.details = f"large {original.name}", f"{outcome.bytes >> 20} MB"
    return outcome


class _ended_by_the_kernel:  # noqa: N801
    """The process dies of SIGPROF when the block takes too much CPU, of SIGALRM when it takes none and does not end."""

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, MOST_CPU_SECONDS)
        signal.alarm(HANGS_AFTER_S)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def main() -> None:
    """All rounds of this process."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_DATA, (_SAFE_BYTES, _SAFE_BYTES))
    with tempfile.TemporaryDirectory() as root:
        captures = Captures(Path(root))
        for number in range(first, first + count):
            with tempfile.TemporaryDirectory() as folder:
                print(json.dumps(asdict(one_round(number, captures, Path(folder)))), flush=True)


if __name__ == "__main__":
    main()
