"""Random runs for the timeline, and the answers of somebody who looks at every slice."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.stores import make_store
from stepscope.analysis.timeline.view import TimelineView
from stepscope.store.run_store import RunStore

BASE_NS = 1_700_000_000_000_000_000
KINDS = ("operator", "kernel", "runtime", "copy", "collective", "mark")
NAMES = (
    "aten::mm",
    "aten::add",
    "MatMul",
    "mm_kernel",
    "Memcpy HtoD",
    "AllReduce",
    "<script>alert(1)</script>",
    "加法",
)


@dataclass(frozen=True)
class One:
    """A slice, told plainly; ``row`` counts the rows of its rank, ``at`` nanoseconds since the run's origin."""

    rank: int
    slice: int
    track: int
    row: int
    at: int
    dur: int
    name: str
    kind: str
    parent: int | None

    @property
    def end(self) -> int:
        return self.at + self.dur

    def inside(self, start: int, end: int) -> int:
        return max(0, min(self.end, end) - max(self.at, start))

    def touches(self, start: int, end: int) -> bool:
        return start <= self.at < end or self.inside(start, end) > 0


@dataclass
class Made:
    store: RunStore
    slices: list[One]
    links: list[dict[str, Any]] = field(default_factory=list)
    counters: list[dict[str, Any]] = field(default_factory=list)

    @property
    def view(self) -> TimelineView:
        return TimelineView(self.store)

    def of_row(self, rank: int, row: int) -> list[One]:
        return sorted((one for one in self.slices if (one.rank, one.row) == (rank, row)), key=lambda one: one.at)

    @property
    def span(self) -> int:
        return max((one.end for one in self.slices), default=0)


def random_run(directory: Path, seed: int, *, ranks: int = 1, tracks: int = 5, slices: int = 300) -> Made:
    """Tracks with nested rows, marks of no length, links, curves, and a clock offset per rank."""
    dice = random.Random(seed)
    rows: list[dict[str, Any]] = []
    track_rows: list[dict[str, Any]] = []
    for rank in range(ranks):
        order = dice.sample(range(tracks), tracks)
        numbers = iter(dice.sample(range(10 * slices * tracks + 10), 10 * slices * tracks))
        for track in range(tracks):
            track_rows.append(
                {
                    "rank": rank,
                    "track": track,
                    "kind": "host",
                    "name": f"thread {track}",
                    "process": f"process {track % 2}",
                }
                | {"thread": str(track), "order": order[track]}
            )
            made = _fill(dice, 0, dice.choice((2_000, 60_000, 3_000_000)), slices // tracks, 0)
            for row, start, dur, parent in made:
                rows.append(
                    {"rank": rank, "slice": next(numbers), "track": track, "row": row, "start_ns": BASE_NS + start}
                    | {"dur_ns": dur, "name": dice.choice(NAMES), "kind": dice.choice(KINDS), "parent": parent}
                )
            mine = rows[-len(made) :] if made else []
            for each in mine:
                each["parent"] = None if each["parent"] is None else mine[each["parent"]]["slice"]
    offsets = [dice.randrange(-5_000, 5_000) if rank else 0 for rank in range(ranks)]
    links = _links(dice, rows, ranks)
    counters = [
        {
            "rank": rank,
            "track": tracks + series,
            "time_ns": BASE_NS + dice.randrange(100_000),
            "value": dice.gauss(0, 9),
        }
        for rank in range(ranks)
        for series in range(2)
        for _ in range(dice.randrange(200))
    ]
    facts = [_rank_facts(rank, rows, offsets[rank]) for rank in range(ranks)]
    # As readers store them: sorted by track, row and start.
    rows.sort(key=lambda row: (row["rank"], row["track"], row["row"], row["start_ns"]))
    store = make_store(
        directory, slices=rows, tracks=track_rows, links=links or [], counters=counters or [], ranks=facts
    )
    return Made(store, told(rows, track_rows, offsets), links, counters)


def told(rows: list[dict[str, Any]], tracks: list[dict[str, Any]], offsets: list[int]) -> list[One]:
    """The slices with rows numbered as the page shows them: by order of track, then depth."""
    first: dict[tuple[int, int], int] = {}
    for rank in range(len(offsets)):
        place = 0
        for track in sorted((t for t in tracks if t["rank"] == rank), key=lambda t: t["order"]):
            first[rank, track["track"]] = place
            depths = [row["row"] for row in rows if (row["rank"], row["track"]) == (rank, track["track"])]
            place += max(depths, default=-1) + 1
    origin = min((row["start_ns"] + offsets[row["rank"]] for row in rows), default=0)
    return [
        One(
            row["rank"],
            row["slice"],
            row["track"],
            first[row["rank"], row["track"]] + row["row"],
            row["start_ns"] + offsets[row["rank"]] - origin,
            row["dur_ns"],
            row["name"],
            row["kind"],
            row["parent"],
        )
        for row in rows
    ]


def _fill(dice: random.Random, start: int, length: int, most: int, depth: int) -> list[tuple[int, int, int, Any]]:
    """Slices side by side, some with others inside; each is (row, start, duration, place of its parent)."""
    found: list[tuple[int, int, int, Any]] = []
    place = start
    while len(found) < most and place < start + length:
        place += dice.choice((0, 0, 1, dice.randrange(max(1, length // 20 + 1))))
        dur = min(dice.choice((0, 1, 3, dice.randrange(max(1, length // 4 + 1)))), start + length - place)
        if dur < 0 or (dur == 0 and depth):
            break
        found.append((depth, place, dur, None))
        own = len(found) - 1
        if dur > 20 and depth < 5 and dice.random() < 0.6:
            inner = _fill(dice, place, dur, min(12, most - len(found)), depth + 1)
            shift = len(found)
            found += [(row, at, d, own if up is None else up + shift) for row, at, d, up in inner]
        place += max(dur, 1)
    return found


def _links(dice: random.Random, rows: list[dict[str, Any]], ranks: int) -> list[dict[str, Any]]:
    found = []
    for rank in range(ranks):
        own = [row["slice"] for row in rows if row["rank"] == rank]
        for _ in range(len(own) // 2):
            kind = dice.choice(("launch", "forward_backward"))
            found.append({"rank": rank, "kind": kind, "from_slice": dice.choice(own), "to_slice": dice.choice(own)})
    return found


def _rank_facts(rank: int, rows: list[dict[str, Any]], offset: int) -> dict[str, Any]:
    own = [row for row in rows if row["rank"] == rank]
    return {
        "rank": rank,
        "clock_offset_ns": offset,
        "first_ns": min((row["start_ns"] for row in own), default=None),
        "last_ns": max((row["start_ns"] + row["dur_ns"] for row in own), default=None),
    }
