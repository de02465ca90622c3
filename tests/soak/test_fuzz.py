"""Long fuzzing (``make soak``): damaged captures never raise anything but our own errors, and never hang."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.errors import StepscopeError
from stepscope.readers.files import raw_bytes
from stepscope.readers.trace_json import trace_text
from support.reading import read, rows_or_reason
from support.samples import SHARED_DATA
from support.traces import document, training_steps, write

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("STEPSCOPE_SOAK_SECONDS", "300"))
MOST_BYTES = 400_000
PIECES = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b"\\",
    b"\0",
    b"\xff",
    b"null",
    b"1e999",
    b"-1",
    b"NaN",
    b"}, {",
    b"\x1f\x8b",
)


def captures(directory: Path) -> list[Path]:
    """Small files of every format at hand: one made here, and the real ones where they are present."""
    made = write(directory / "made.json", document(training_steps(3)))
    real = (path for path in SHARED_DATA.rglob("*") if path.is_file() and path.stat().st_size < MOST_BYTES)
    return [made, *sorted(real)]


def damaged(content: bytes, dice: random.Random) -> bytes:
    """The content after some cuts, swaps and insertions."""
    data = bytearray(content)
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(5):
            case 0:
                del data[at:]
            case 1:
                del data[at : at + dice.randint(1, 200)]
            case 2:
                data[at:at] = dice.choice(PIECES)
            case 3:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case _:
                data[at:at] = data[: dice.randint(0, 300)]
    return bytes(data)


def until(deadline: float) -> Iterator[int]:
    number = 0
    while time.monotonic() < deadline:
        yield number
        number += 1


def test_damaged_captures_are_read_or_refused(tmp_path: Path) -> None:
    originals = captures(tmp_path)
    for number in until(time.monotonic() + SECONDS):
        dice = random.Random(number)
        original = dice.choice(originals)
        path = tmp_path / "damaged" / original.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(damaged(original.read_bytes(), dice))
        began = time.process_time()
        try:
            read(path)
        except StepscopeError as error:
            assert error.message("zh")
        assert time.process_time() - began < 60, f"case {number}: {original.name}"
        path.unlink()


def test_damaged_traces_give_the_same_scanned_or_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scanner = pytest.importorskip("stepscope.readers.trace_json.event_scanner", reason="built without a C compiler")
    traces = [path for path in captures(tmp_path) if path.suffix == ".json"]
    for number in until(time.monotonic() + SECONDS):
        dice = random.Random(number)
        path = tmp_path / "damaged.json"
        path.write_bytes(damaged(dice.choice(traces).read_bytes()[:60_000], dice))
        monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", dice.choice([500, 2_000, 8_000, 1 << 21]))
        monkeypatch.setattr(trace_text, "event_scanner", scanner)
        scanned = rows_or_reason(path)
        monkeypatch.setattr(trace_text, "event_scanner", None)
        assert scanned == rows_or_reason(path), f"case {number}"
