"""What the timeline asks; tiles of slices and counters travel as bytes, everything else as JSON."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from stepscope.analysis.timeline import wire
from stepscope.analysis.timeline.brief import SliceBrief, briefs_of
from stepscope.analysis.timeline.flame import Flame, flame
from stepscope.analysis.timeline.flows import Flows, SliceId, flows_in_window, flows_of_slices
from stepscope.analysis.timeline.lanes import LanesAnswer, lane_totals
from stepscope.analysis.timeline.range_stats import RangeStats, range_stats
from stepscope.analysis.timeline.rows import RowRange
from stepscope.analysis.timeline.search import Cursor, Question, SearchResult, search
from stepscope.analysis.timeline.slice_details import SliceDetails, slice_details
from stepscope.analysis.timeline.tracks import MOST_NAMES, NameTable, Tracks, names, tracks
from stepscope.deliver import chrome_trace
from stepscope.errors import UsageError
from stepscope.facts.launches import launches_facts
from stepscope.server.documentation import AnswerTypes
from stepscope.server.library import Library
from stepscope.server.replies import json_reply
from stepscope.server.requests import (
    CountersRequest,
    FlameRequest,
    FlowsRequest,
    Moment,
    Rank,
    RowsRequest,
    SliceNumber,
    SlicesRequest,
    StatsRequest,
    TilesRequest,
)
from stepscope.store.run_store import RunStore

Ranks = Annotated[list[Rank] | None, Query(max_length=4_096)]
Duration = Annotated[int | None, Query(ge=0, le=1 << 53)]


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(prefix="/run/{run_id}", tags=["timeline"])

    @routes.get("/tracks", responses=answers.json(Tracks))
    def tracks_of(run_id: str, rank: Ranks = None) -> Response:
        """The tree of tracks of some ranks, of the first if none is named."""
        return json_reply(tracks(library.ready(run_id)[1], rank))

    @routes.get("/names", responses=answers.json(NameTable))
    def names_of(
        run_id: str,
        rank: Annotated[Rank, Query()],
        offset: Annotated[int, Query(ge=0, le=1 << 32)] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_NAMES)] = MOST_NAMES,
    ) -> Response:
        """A stretch of a rank's table of names."""
        return json_reply(names(library.ready(run_id)[1], rank, offset, limit))

    @routes.post("/tiles", responses=answers.binary(), response_class=Response)
    def tiles(run_id: str, wanted: TilesRequest) -> Response:
        """Tiles of slices, as many as one answer may hold."""
        keys = [wire.TileKey(each.rank, each.block, each.level, each.index) for each in wanted.tiles]
        return _bytes(wire.slice_tiles(library.ready(run_id)[1], keys, library.tiles))

    @routes.post("/counters", responses=answers.binary(), response_class=Response)
    def counters(run_id: str, wanted: CountersRequest) -> Response:
        """Tiles of curves, as many as one answer may hold."""
        keys = [wire.CounterKey(each.rank, each.track, each.level, each.index) for each in wanted.tiles]
        return _bytes(wire.counter_tiles(library.ready(run_id)[1], keys, library.tiles))

    @routes.get("/slice/{rank}/{number}", responses=answers.json(SliceDetails))
    def slice_of(run_id: str, rank: Annotated[Rank, InPath()], number: Annotated[SliceNumber, InPath()]) -> Response:
        """All that is known of one slice."""
        return json_reply(slice_details(library.ready(run_id)[1], rank, number))

    @routes.post("/slices", responses=answers.json(list[SliceBrief]))
    def slices(run_id: str, wanted: SlicesRequest) -> Response:
        """Where some slices lie; those that do not exist are left out."""
        return json_reply(briefs_of(library.ready(run_id)[1], [(each.rank, each.slice) for each in wanted.slices]))

    @routes.get("/search", responses=answers.json(SearchResult))
    def search_for(
        run_id: str,
        q: Annotated[str, Query(min_length=1, max_length=1_000)],
        mode: Literal["text", "regex"] = "text",
        case: bool = False,
        word: bool = False,
        rank: Ranks = None,
        kind: Annotated[list[str] | None, Query(max_length=32)] = None,
        min_dur_ns: Duration = None,
        max_dur_ns: Duration = None,
        from_ns: Moment | None = None,
        to_ns: Moment | None = None,
        at_ns: Moment | None = None,
        current_rank: Rank | None = None,
        current_slice: SliceNumber | None = None,
        offset: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
        limit: Annotated[int, Query(ge=0, le=1_000)] = 100,
    ) -> Response:
        """Slices by name."""
        question = Question(q, mode == "regex", case, word, kind or (), min_dur_ns, max_dur_ns, from_ns, to_ns)
        cursor = Cursor(at_ns, current_rank, current_slice)
        return json_reply(search(library.ready(run_id)[1], question, rank, cursor, offset, limit))

    @routes.post("/stats", responses=answers.json(RangeStats))
    def stats(run_id: str, wanted: StatsRequest) -> Response:
        """What happened in a window on some rows; of its gaps those worth a look, unless a length is given."""
        _check_window(wanted.from_ns, wanted.to_ns)
        statistics = range_stats(
            library.ready(run_id)[1],
            wanted.from_ns,
            wanted.to_ns,
            _ranges(wanted.rows),
            wanted.by,
            wanted.limit,
            launches_facts().gaps.least_us * 1000 if wanted.gaps_over_ns is None else wanted.gaps_over_ns,
            wanted.gaps_limit,
        )
        return json_reply(statistics)

    @routes.post("/flame", responses=answers.json(Flame))
    def flame_of(run_id: str, wanted: FlameRequest) -> Response:
        """The slices of a window on some rows by who called whom."""
        _check_window(wanted.from_ns, wanted.to_ns)
        window = (wanted.from_ns, wanted.to_ns)
        return json_reply(flame(library.ready(run_id)[1], *window, _ranges(wanted.rows), wanted.limit))

    @routes.post("/flows", responses=answers.json(Flows))
    def flows(run_id: str, wanted: FlowsRequest) -> Response:
        """Links of some slices, or of a window."""
        view = library.ready(run_id)[1]
        if wanted.slices is not None:
            chosen = [SliceId(each.rank, each.slice) for each in wanted.slices]
            return json_reply(flows_of_slices(view, chosen, wanted.kinds, wanted.limit))
        if wanted.from_ns is None or wanted.to_ns is None or wanted.rows is None:
            raise UsageError("invalid_request", reason="slices, or from_ns, to_ns and rows")
        _check_window(wanted.from_ns, wanted.to_ns)
        window = (wanted.from_ns, wanted.to_ns)
        return json_reply(flows_in_window(view, *window, _ranges(wanted.rows), wanted.kinds, wanted.limit, wanted.bins))

    @routes.get("/trace", responses=answers.binary("application/gzip"), response_class=FileResponse)
    def trace(
        run_id: str, from_ns: Annotated[Moment, Query()], to_ns: Annotated[Moment, Query()], rank: Ranks = None
    ) -> Response:
        """A stretch of time of some ranks as a Chrome trace, for Perfetto and chrome://tracing."""
        _check_window(from_ns, to_ns)
        view = library.ready(run_id)[1]
        ranks = view.ranks(rank)
        folder = Path(mkdtemp(prefix="stepscope-trace-"))
        forget = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        path = _written_trace(view.store, ranks, folder, (from_ns, to_ns))
        name = f"timeline-rank{'-'.join(map(str, ranks[:4]))}-{from_ns}-{to_ns}.json.gz"
        return FileResponse(path, media_type="application/gzip", filename=name, background=forget)

    @routes.get("/lanes", responses=answers.json(LanesAnswer))
    def lanes(run_id: str, rank: Ranks = None, from_ns: Moment | None = None, to_ns: Moment | None = None) -> Response:
        """How long some ranks compute, communicate, copy and are free."""
        return json_reply(lane_totals(library.ready(run_id)[1], rank, from_ns, to_ns))

    return routes


def _ranges(rows: list[RowsRequest]) -> list[RowRange]:
    return [RowRange(each.rank, each.first_row, each.last_row, each.shift_ns) for each in rows]


def _written_trace(store: RunStore, ranks: list[int], folder: Path, within: tuple[int, int]) -> Path:
    """The file; without one, the folder goes too."""
    path = folder / "range.json.gz"
    try:
        chrome_trace.write(store, ranks, path, zipped=True, within=within)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path


def _check_window(from_ns: int, to_ns: int) -> None:
    if to_ns < from_ns:
        raise UsageError("invalid_request", reason="to_ns < from_ns")


def _bytes(body: bytes) -> Response:
    return Response(body, media_type="application/octet-stream")
