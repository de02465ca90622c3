"""The timeline of real captures: rows without overlap, lanes that fill their span, and the vendor's own lanes."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analysis.timeline.lanes import lane_totals
from stepscope.analysis.timeline.slice_details import slice_details
from stepscope.analysis.timeline.tracks import tracks
from stepscope.analysis.timeline.view import TimelineView
from stepscope.run import Run
from support.samples import SHARED_DATA, open_sample

_PARTS = ("computing", "exposed_communication", "exposed_copy", "free")
_NPU = "ascend/text_level1"


@pytest.fixture(
    scope="module",
    params=["kineto/h200_plain.json.gz", "kineto/gpt_stack.json.gz", "kineto/ddp4/ddp_rank0.json.gz", _NPU],
)
def run(request: pytest.FixtureRequest) -> Run:
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    return open_sample(SHARED_DATA / request.param)


def test_slices_of_a_row_do_not_overlap(run: Run) -> None:
    view = TimelineView(run.store)
    for rank in run.ranks:
        columns = view.columns(rank)
        for row in range(columns.rows):
            first, last = columns.row_range(row)
            ends = columns.end(np.arange(first, last))
            assert (columns.start[first + 1 : last] >= ends[:-1]).all()
        listed = tracks(view, [rank]).ranks[0]
        assert sum(track.slices for group in listed.groups for track in group.tracks) == len(columns.slice)


def test_the_parts_of_the_lanes_fill_their_span(run: Run) -> None:
    for rank in lane_totals(TimelineView(run.store), run.ranks).ranks:
        assert sum(rank.total_ns[part] for part in _PARTS) == rank.span_dur_ns > 0


def test_every_kind_of_slice_has_details(run: Run) -> None:
    view = TimelineView(run.store)
    for kind, rank, number in run.sql("SELECT kind, rank, min(slice) FROM slices GROUP BY ALL").iter_rows():
        found = slice_details(view, rank, number)
        assert (found.kind, found.slice) == (kind, number)
        assert 0 <= found.self_ns <= found.dur_ns


@pytest.mark.parametrize("run", [_NPU], indirect=True)
def test_lanes_agree_with_those_that_the_vendor_wrote(run: Run) -> None:
    """Its Overlap Analysis of the same window; it counts copies as free time."""
    for rank in run.ranks:
        query = f"""SELECT t.name, sum(s.dur_ns)::BIGINT AS total FROM slices s JOIN tracks t USING (rank, track)
                    WHERE t.kind = 'vendor' AND s.kind = 'reported' AND rank = {rank} GROUP BY t.name"""
        vendor = dict(run.sql(query).iter_rows())
        (ours,) = lane_totals(TimelineView(run.store), [rank]).ranks
        assert ours.total_ns["computing"] == pytest.approx(vendor["Computing"], rel=2e-3)
        assert ours.total_ns["communication"] == pytest.approx(vendor["Communication"], rel=1e-3)
        assert ours.total_ns["exposed_communication"] == pytest.approx(
            vendor["Communication(Not Overlapped)"], rel=1e-3
        )
