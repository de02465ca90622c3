"""Damaged files of all formats (``make soak``), in counted rounds: read, or refused with a sentence, at a bounded cost.

Each round damages one file of one capture and reads it; some go on to ask every question. A file that was only cut off
may not lose rows in silence.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import stepscope
from soak.small_captures import small_captures
from stepscope.engine.rank_task import RankTask, run
from stepscope.errors import StepscopeError
from stepscope.questions import QUESTIONS
from stepscope.readers.discovery.windows import windows
from stepscope.store.fingerprint import fingerprint
from stepscope.store.notes import Note
from stepscope.store.run_store import Part
from support.limits import PeakMemory
from support.samples import SHARED_DATA

pytestmark = pytest.mark.soak

ROUNDS = int(os.environ.get("STEPSCOPE_SOAK_ROUNDS", "100000"))
FIRST = int(os.environ.get("STEPSCOPE_SOAK_FIRST", "0"))
MADE_HERE = 13
MOST_SECONDS = 20
MOST_BYTES = 1 << 30
ASK_EVERY = 100
MOST_ORIGINAL_BYTES = 400_000
PIECES = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b"\\", b"\0", b"\n", b"\r", b";", b":", b"'", b" "),
    *(b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\x1b[31m", b"\x1f\x8b"),
    *(b"null", b"true", b"NaN", b"N/A", b"1e999", b"-1", b"}, {", b"[[[]]]", b"{}", b'""', b"[[0, 1]]"),
    *(b"2147483648", b"4294967296", b"9223372036854775808", b"-9223372036854775809", b"1" * 40, b"0x" + b"f" * 40),
)


def damaged(content: bytes, dice: random.Random) -> tuple[bytes, bool]:
    """The content after some cuts, swaps and insertions; and whether its end was cut off and nothing else."""
    if dice.random() < 0.2:
        return content[: dice.randrange(len(content) + 1)], True
    data = bytearray(content)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(7):
            case 0:
                del data[at : at + dice.randint(1, 200)]
            case 1:
                data[at:at] = dice.choice(PIECES)
            case 2:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 3:
                data[at:at] = data[: dice.randint(0, 300)]
            case 4:
                _replace_number(data, at, dice)
            case 5:
                _replace_text(data, at, dice)
            case _:
                other = dice.randrange(len(data) + 1)
                data[at : at + 20], data[other : other + 20] = data[other : other + 20], data[at : at + 20]
    return bytes(data), False


def _replace_number(data: bytearray, at: int, dice: random.Random) -> None:
    """The next number by one that is odd; structure stays, so that it gets far."""
    while at < len(data) and not 48 <= data[at] <= 57:
        at += 1
    end = at
    while end < len(data) and data[end] in b"0123456789.eE+-":
        end += 1
    data[at:end] = dice.choice(PIECES[-16:])


def _replace_text(data: bytearray, at: int, dice: random.Random) -> None:
    """The next quoted text by another value."""
    begin = data.find(b'"', at)
    end = data.find(b'"', begin + 1)
    if 0 <= begin < end:
        data[begin : end + 1] = dice.choice((b"null", b"7", b"[]", b"{}", b'""', b'"\\ud800"', b"[[0, 1]]", b"-1.5"))


def originals(root: Path) -> list[Path]:
    """One of each format made here, and real files where they are present."""
    real = (path for path in SHARED_DATA.rglob("*") if path.is_file() and path.stat().st_size < MOST_ORIGINAL_BYTES)
    return [*small_captures(root), *sorted(path for path in real if path.suffix in (".json", ".gz", ".pickle", ".db"))]


def _read(capture: Path, store: Path) -> tuple[int, list[Note]]:
    """Rows of all tables of the newest window, and its notes; each rank as the engine reads it."""
    window = windows(capture)[-1]
    rows, notes = 0, list(window.notes.all())
    for source in window.sources:
        part: Part = run(RankTask(source, fingerprint(source.files), store, "soak"))
        rows += sum(count for table, files in part.tables.items() if table != "notes" for count in files.values())
        for name in part.tables.get("notes", {}):
            frame = pl.read_parquet(store / name)
            notes += [Note(code, count=count) for code, count in frame.select("code", "count").iter_rows()]
    return rows, notes


def _ask_everything(capture: Path, store: Path) -> None:
    run_of_it = stepscope.load(capture, store=store, progress=False)
    for name in QUESTIONS:
        try:
            run_of_it.ask(name)
        except StepscopeError as error:
            assert error.message("zh")


def test_damaged_captures_are_read_or_refused(tmp_path: Path) -> None:
    captures = originals(tmp_path)
    whole: dict[Path, int] = {}
    counts: Counter[str] = Counter()
    faults: dict[str, str] = {}
    slowest = largest = 0.0
    for number in range(FIRST, FIRST + ROUNDS):
        dice = random.Random(number)
        original = dice.choice(captures[:MADE_HERE] if dice.random() < 0.8 else captures)
        with tempfile.TemporaryDirectory() as folder:
            if original not in whole:
                whole[original] = _rows_of(original, Path(folder) / "whole")
            capture = Path(folder) / "capture" / original.name
            (shutil.copytree if original.is_dir() else _copy)(original, capture)
            file = dice.choice(sorted(path for path in capture.rglob("*") if path.is_file()) or [capture])
            content, only_cut = damaged(file.read_bytes(), dice)
            file.write_bytes(content)
            case = f"round {number}: {file.relative_to(folder)}"
            began = time.process_time()
            with PeakMemory() as memory:
                try:
                    rows, notes = _read(capture, Path(folder) / "store")
                    counts["read"] += 1
                    if only_cut and not content.endswith(b"\n") and content and rows < whole[original]:
                        counts["cut"] += 1
                        if not notes:
                            faults.setdefault(f"silent {original.name}", f"{case}: {rows} of {whole[original]} rows")
                    if number % ASK_EVERY == 0:
                        counts["asked"] += 1
                        _ask_everything(capture, Path(folder) / "asked")
                except StepscopeError as error:
                    assert error.message("zh")
                    counts["refused"] += 1
                    if error.code in ("internal", "cannot_write_store"):
                        faults.setdefault(str(error)[:60], f"{case}: {error}")
                except Exception as error:
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    raised = "".join(traceback.format_exception(error)[-6:])
                    faults.setdefault(f"{type(error).__name__} {last.filename}:{last.lineno}", f"{case}: {raised}")
            took = time.process_time() - began
            if took > MOST_SECONDS:
                faults.setdefault(f"slow {original.name}", f"{case}: {took:.1f} s")
            if memory.grown_bytes > MOST_BYTES:
                faults.setdefault(f"large {original.name}", f"{case}: {memory.grown_bytes >> 20} MB")
            slowest, largest = max(slowest, took), max(largest, memory.grown_bytes)
    print(f"{ROUNDS} rounds: {dict(counts)}, slowest {slowest:.1f} s, largest {int(largest) >> 20} MB")
    assert not faults, "\n".join(faults.values())


def _rows_of(capture: Path, store: Path) -> int:
    try:
        return _read(capture, store)[0]
    except StepscopeError:
        return 0


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True)
    shutil.copy(source, target)
