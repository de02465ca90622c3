"""Curves in bins against a twin that looks at every sample; a peak is never lost."""

from __future__ import annotations

import math
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS, random_run
from stepscope.analysis.timeline import wire
from stepscope.analysis.timeline.tracks import tracks
from stepscope.analysis.timeline.view import TimelineView

Bins = list[tuple[int, float, float, float]]


def decoded(body: bytes) -> list[tuple[float, Bins]]:
    """A second reading of the wire format: the value before the tile, then bin, minimum, maximum, last."""
    assert body[:4] == b"SSC1"
    (tiles,) = struct.unpack_from("<I", body, 4)
    found = []
    for number in range(tiles):
        key, bins, offset, _, before = struct.unpack_from("<4Id", body, 8 + 24 * number)
        assert key == number
        assert offset % 8 == 0
        values = np.frombuffer(body, "<f8", 3 * bins, offset).reshape(3, bins).tolist()
        places = np.frombuffer(body, "<u2", bins, offset + 24 * bins).tolist()
        found.append((before, list(zip(places, *values, strict=True))))
    return found


def _samples(view: TimelineView, series: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(time - view.clock.origin_ns, value) for time, value in series]


@pytest.mark.parametrize("seed", range(6))
def test_bins_hold_minimum_maximum_and_last_of_their_samples(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, tracks=3)
    view = made.view
    dice = random.Random(seed)
    for _ in range(30):
        track, level, index = dice.choice((3, 4)), dice.randrange(0, 12), dice.randrange(-1, 60)
        ours = [(row["time_ns"], row["value"]) for row in made.counters if row["track"] == track]
        samples = sorted(_samples(view, ours), key=lambda sample: sample[0])
        begin, width = index * 1024 << level, 1 << level
        expected: Bins = []
        for place in range(1024):
            edge = begin + place * width
            inside = [value for time, value in samples if edge <= time < edge + width]
            if inside:
                expected.append((place, min(inside), max(inside), inside[-1]))
        earlier = [value for time, value in samples if time < begin]
        ((before, bins),) = decoded(wire.counter_tiles(view, [wire.CounterKey(0, track, level, index)]))
        assert bins == expected
        assert before == earlier[-1] if earlier else math.isnan(before)


def test_a_peak_of_one_sample_survives_the_coarsest_tile(tmp_path: Path) -> None:
    rows = [{"track": 1, "time_ns": BASE_NS + place * 10, "value": 1.0} for place in range(50_000)]
    rows[31_234]["value"], rows[7]["value"] = 9e15 + 1, -4.0
    view = TimelineView(make_store(tmp_path, counters=rows))
    ((_, bins),) = decoded(wire.counter_tiles(view, [wire.CounterKey(0, 1, 40, 0)]))
    assert bins == [(0, -4.0, 9e15 + 1, 1.0)]


def test_samples_that_are_no_numbers_do_not_hide_the_others(tmp_path: Path) -> None:
    values = [1.0, math.nan, 3.0, None]
    rows = [{"track": 1, "time_ns": BASE_NS + place, "value": value} for place, value in enumerate(values)]
    view = TimelineView(make_store(tmp_path, counters=rows))
    ((_, bins),) = decoded(wire.counter_tiles(view, [wire.CounterKey(0, 1, 40, 0)]))
    assert bins[0][:3] == (0, 1.0, 3.0)


def test_a_track_without_samples_is_empty(tmp_path: Path) -> None:
    view = random_run(tmp_path, 2).view
    ((before, bins),) = decoded(wire.counter_tiles(view, [wire.CounterKey(0, 999, 3, 0)]))
    assert bins == []
    assert math.isnan(before)


@pytest.mark.parametrize("index", [1 << 53, -(1 << 53)])
def test_a_tile_outside_all_time_is_empty(tmp_path: Path, index: int) -> None:
    view = random_run(tmp_path, 2, tracks=3).view
    ((_, bins),) = decoded(wire.counter_tiles(view, [wire.CounterKey(0, 3, 50, index)]))
    assert bins == []


def test_the_span_of_a_curve_stands_with_its_track(tmp_path: Path) -> None:
    rows = [{"track": 4, "time_ns": BASE_NS + place, "value": float(place)} for place in range(3)]
    names = [{"track": 4, "kind": "counter", "name": "memory", "process": "GPU", "order": 0}]
    view = TimelineView(make_store(tmp_path, counters=rows, tracks=names))
    answer = tracks(view, None)
    assert (answer.origin_ns, answer.end_at_ns) == (str(BASE_NS), 2)
    (group,) = answer.ranks[0].groups
    assert (group.kind, group.tracks[0].rows) == ("counter", 0)
    assert group.tracks[0].counter is not None
    assert (group.tracks[0].counter.min, group.tracks[0].counter.max, group.tracks[0].counter.points) == (0.0, 2.0, 3)
