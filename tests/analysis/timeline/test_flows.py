"""Links of slices and of windows; sampled ones are true ones, and the total counts all."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS, random_run
from stepscope.analysis.timeline.flows import Flows, SliceId, flows_in_window, flows_of_slices
from stepscope.analysis.timeline.rows import RowRange
from stepscope.analysis.timeline.view import TimelineView


def _pairs(found: Flows) -> list[tuple[int, str, int, int]]:
    return sorted(zip(found.rank, found.kind, found.from_slice, found.to_slice, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_links_of_slices_begin_or_end_at_them(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, ranks=2)
    chosen = made.slices[::17]
    ids = {(one.rank, one.slice) for one in chosen}
    links = [(x["rank"], x["kind"], x["from_slice"], x["to_slice"]) for x in made.links]
    expected = [x for x in links if (x[0], x[2]) in ids or (x[0], x[3]) in ids]
    wanted = [SliceId(*each) for each in ids]
    assert _pairs(flows_of_slices(made.view, wanted)) == sorted(expected)
    launches = flows_of_slices(made.view, [*wanted, SliceId(0, 4_000_000_000)], ["launch"])
    assert _pairs(launches) == sorted(x for x in expected if x[1] == "launch")
    assert launches.total == len(launches.rank)


@pytest.mark.parametrize("seed", range(4))
def test_links_of_a_window_have_an_end_in_it(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed)
    by_id = {one.slice: one for one in made.slices}
    start, end = made.span // 10, made.span // 3
    expected = []
    for link in made.links:
        ends = [by_id[link["from_slice"]], by_id[link["to_slice"]]]
        if any(one.touches(start, end) and 1 <= one.row <= 6 for one in ends):
            expected.append((0, link["kind"], link["from_slice"], link["to_slice"]))
    found = flows_in_window(made.view, start, end, [RowRange(0, 1, 6)], bins=8192)
    assert found.total == len(expected)
    assert set(_pairs(found)) <= set(expected)
    for place in range(found.shown):
        one, other = by_id[found.from_slice[place]], by_id[found.to_slice[place]]
        assert (found.from_at_ns[place], found.from_row[place], found.from_dur_ns[place]) == (one.at, one.row, one.dur)
        assert (found.to_at_ns[place], found.to_row[place], found.to_dur_ns[place]) == (other.at, other.row, other.dur)


def _many_links(directory: Path) -> TimelineView:
    slices = [
        {"row": row, "start_ns": BASE_NS + 10 * place, "dur_ns": 5, "name": "n", "kind": "operator"}
        for row in range(2)
        for place in range(20_000)
    ]
    links = [{"kind": "launch", "from_slice": place, "to_slice": 20_000 + place} for place in range(20_000)]
    return TimelineView(make_store(directory, slices=slices, links=links, ranks=[{"rank": 0, "first_ns": BASE_NS}]))


def test_a_sample_is_bounded_spread_out_and_says_how_many_there_are(tmp_path: Path) -> None:
    view = _many_links(tmp_path)
    found = flows_in_window(view, 0, 200_000, [RowRange(0)], bins=8000)
    assert (found.total, found.shown) == (20_000, 2_000)
    assert found.from_at_ns[0] == 0
    assert found.from_at_ns[-1] > 199_000
    assert max(b - a for a, b in zip(found.from_at_ns, found.from_at_ns[1:], strict=False)) < 500


def test_one_link_stands_for_all_between_the_same_two_places(tmp_path: Path) -> None:
    found = flows_in_window(_many_links(tmp_path), 0, 200_000, [RowRange(0)], bins=100)
    assert (found.total, found.shown) == (20_000, 100)


def test_links_to_slices_that_were_dropped_are_left_out(tmp_path: Path) -> None:
    slices = [{"start_ns": BASE_NS, "dur_ns": 5, "name": "n", "kind": "operator"}]
    links = [{"kind": "launch", "from_slice": 0, "to_slice": 12}, {"kind": "flow", "from_slice": 0, "to_slice": 0}]
    view = TimelineView(make_store(tmp_path, slices=slices, links=links))
    assert view.links(0).counts() == {"flow": 1}
    assert flows_of_slices(view, [SliceId(0, 0)]).total == 1
    assert flows_of_slices(view, []).total == 0
