"""Traces of one kind, cut off, nested without end or damaged anywhere: read, or refused with a reason."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from readers.kineto.opened_traces import KINDS_OF_EVENTS, NASTY, Opened, communication, frame
from stepscope.errors import StepscopeError, UnreadableInputError
from support.limits import PeakMemory, at_most
from support.reading import Reading, read
from support.traces import (
    LAYOUTS,
    Literal,
    compact,
    complete,
    document,
    kernel,
    operator,
    training_steps,
    write,
)


def test_a_trace_without_any_event_is_refused(opened: Opened) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        opened([])
    assert caught.value.code == "no_events"


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.7, 0.9, 0.99])
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_a_killed_job_leaves_its_whole_events(cut: float, zipped: bool, tmp_path: Path) -> None:
    events = training_steps(40)
    whole = write(tmp_path / "whole.json", document(events), zipped=zipped).read_bytes()
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: int(len(whole) * cut)])
    reading = read(path)
    names = [row["name"] for row in sorted(reading.rows("slices"), key=lambda row: row["slice"])]
    expected = [event["name"] for event in events if event["ph"] == "X"]
    assert 0 < len(names) < len(expected)
    assert names == expected[: len(names)]
    assert reading.codes.keys() & {"file_truncated", "gzip_truncated"}


def test_python_frames_nested_without_end_do_not_fill_the_memory(opened: Opened) -> None:
    depth = 5_000
    events = [frame(f"recursive.py(7): function_{number % 7}", number, 2 * (depth - number)) for number in range(depth)]
    events.append(operator("inside", depth, 0))
    with at_most(20), PeakMemory() as peak:
        reading = opened(events)
    assert len(reading.rows("slices")) == depth + 1
    assert peak.grown_bytes < 300 << 20


def test_modules_nested_without_end_do_not_fill_the_memory(opened: Opened) -> None:
    depth = 5_000
    events = [
        frame(f"nn.Module: TransformerDecoderBlock_{number % 7}", number, 2 * (depth - number))
        for number in range(depth)
    ]
    with at_most(20), PeakMemory() as peak:
        reading = opened(events)
    assert len(reading.rows("slices")) == depth
    assert peak.grown_bytes < 300 << 20


def test_a_category_and_a_thread_for_each_event_take_linear_time(opened: Opened) -> None:
    count = 20_000
    events = [complete(f"category {number}", "x", number, 1, tid=number) for number in range(count)]
    with at_most(30):
        reading = opened(events)
    assert len(reading.rows("slices")) == count
    assert reading.codes["category_unknown"] == count


# mutations
def mutations(text: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Copies with a few bytes changed, removed, doubled or moved, the same ones each time."""
    chance = random.Random(seed)
    alphabet = b'{}[],:"\\ \n0159-.eENaNull\x00\x1f\xff\xc3('
    for _ in range(count):
        mutant = bytearray(text)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            at = chance.randrange(len(mutant))
            length = chance.choice((1, 1, 3, 40))
            kind = chance.randrange(5)
            if kind == 0:
                mutant[at] = chance.choice(alphabet)
            elif kind == 1:
                del mutant[at : at + length]
            elif kind == 2:
                mutant[at:at] = mutant[at : at + length]
            elif kind == 3:
                mutant[at:at] = bytes(chance.choices(alphabet, k=length))
            else:
                there = chance.randrange(len(mutant))
                mutant[there:there] = mutant[at : at + length]
        yield bytes(mutant)


def read_or_refuse(path: Path) -> Reading | None:
    """Only an error of ours may come out of a reader."""
    try:
        return read(path)
    except StepscopeError as error:
        assert str(error)
        return None


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_no_mutation_of_a_trace_raises_anything_but_our_errors(layout: Callable[[Any], str], tmp_path: Path) -> None:
    info = {"rank": 1, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}
    events = [*training_steps(1), *KINDS_OF_EVENTS.values(), kernel("ncclX", 5_000, 5, 9, **communication("send"))]
    text = layout(document(events, distributedInfo=info, baseTimeNanoseconds=10**18)).encode()
    path = tmp_path / "mutant.json"
    survivors = 0
    for mutant in mutations(text, 60, seed=len(text)):
        path.write_bytes(mutant)
        with at_most(10):
            survivors += read_or_refuse(path) is not None
    assert survivors > 30


def test_no_mutation_of_a_gzip_raises_anything_but_our_errors(tmp_path: Path) -> None:
    zipped = write(tmp_path / "t.json", document(training_steps(3)), zipped=True).read_bytes()
    path = tmp_path / "mutant.json.gz"
    for mutant in mutations(zipped, 40, seed=5):
        path.write_bytes(mutant)
        with at_most(10):
            read_or_refuse(path)


def test_no_mutation_of_a_real_sample_raises_anything_but_our_errors(shared_data: Path, tmp_path: Path) -> None:
    text = gzip.decompress((shared_data / "kineto" / "ddp4" / "ddp_rank0.json.gz").read_bytes())
    path = tmp_path / "mutant.json"
    for mutant in mutations(text, 15, seed=11):
        path.write_bytes(mutant)
        with at_most(20):
            reading = read_or_refuse(path)
        if reading is not None and "event_dropped" not in reading.codes and "file_truncated" not in reading.codes:
            assert len(reading.rows("slices")) > 1_000


def test_the_values_that_hurt_are_valid_where_they_claim_to_be() -> None:
    parsed = list(map(partial(json.loads, parse_constant=str), (compact(v) for v in NASTY if v != Literal("N/A"))))
    assert len(parsed) == len(NASTY) - 1
