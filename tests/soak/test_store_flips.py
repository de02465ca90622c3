"""Bit flips in a small store (``make soak``): each one is noticed, and none ever changes an answer."""

from __future__ import annotations

import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest

import stepscope
from stepscope.errors import StepscopeError
from stepscope.store.integrity import checksum, read_document
from store.test_integrity import answers, flip, stored_files
from support.mini_trace import write_capture

pytestmark = pytest.mark.soak

_HERE = ThreadPoolExecutor(1)  # a process for each rank would take longer than reading it
ROUNDS = int(os.environ.get("STEPSCOPE_SOAK_FLIPS", "400"))


def test_every_single_bit_of_every_file_is_watched(tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "capture", [0], steps=2, operators=2)
    run = stepscope.load(capture, store=tmp_path / "store")
    answers(run)
    flips = 0
    for path in stored_files(tmp_path / "store"):
        name = str(path.relative_to(run.store.directory)) if path.is_relative_to(run.store.directory) else ""
        with path.open("r+b", buffering=0) as file:
            for bit in range(path.stat().st_size * 8):
                _flip_in_place(file, bit)
                if name in run.store.manifest.sizes:
                    assert checksum(path) != run.store.manifest.checksums[name], (path, bit)
                else:
                    with pytest.raises(ValueError):
                        read_document(path)
                _flip_in_place(file, bit)
                flips += 1
    print(f"{flips} flipped bits, each noticed")
    assert flips > 100_000


def _flip_in_place(file: BinaryIO, bit: int) -> None:
    file.seek(bit // 8)
    before = file.read(1)[0]
    file.seek(bit // 8)
    file.write(bytes([before ^ 1 << bit % 8]))


@pytest.mark.parametrize("with_capture", [True, False], ids=["with its capture", "without"])
def test_answers_are_right_or_a_sentence(tmp_path: Path, with_capture: bool) -> None:
    made = write_capture(tmp_path / "capture", [0, 1], steps=3, operators=2)
    expected = answers(stepscope.load(made, store=tmp_path / "store", executor=_HERE))
    names = [path.relative_to(tmp_path / "store") for path in stored_files(tmp_path / "store")]
    right = refused = 0
    for number in range(ROUNDS):
        dice = random.Random(number)
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        shutil.copytree(tmp_path / "store", tmp_path / "damaged")
        path = tmp_path / "damaged" / dice.choice(names)
        flip(path, dice.randrange(path.stat().st_size * 8))
        try:
            run = stepscope.load(made, store=tmp_path / "damaged", executor=_HERE)
            if not with_capture:
                made.rename(tmp_path / "away")
            try:
                assert answers(run) == expected, (number, path)
                right += 1
            finally:
                if not with_capture:
                    (tmp_path / "away").rename(made)
        except StepscopeError as error:
            assert not with_capture, error
            assert error.message("zh")
            refused += 1
    print(f"{right} right, {refused} refused with a sentence")
    assert right + refused == ROUNDS
