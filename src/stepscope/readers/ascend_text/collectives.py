"""Communication calls, their parts on planes, and the groups they run in."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.ascend import device_tasks
from stepscope.readers.ascend.communication import TIMES, members_of
from stepscope.readers.ascend_text.timeline import TraceTimeline
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import categorical, nullable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

# The vendor rounds the start in communication.json to a quarter of a microsecond.
_SAME_START_NS: Final = 1_000
_PAIRWISE: Final = ("send", "receive")


def write_communication(
    timeline: TraceTimeline, calls: pl.DataFrame, groups: pl.DataFrame, step: Int64s, out: RankWriter, notes: Notes
) -> bool:
    """Write ``collectives`` and ``transfers``, give slices their group and bytes; whether planes held transfers.

    ``calls`` is what communication.json says, ``groups`` what the metadata state.
    """
    slices, argument = timeline.slices, timeline.argument
    whole_calls = np.flatnonzero(timeline.on_layer("group") & slices.is_kind("collective"))
    described = _describe(timeline, whole_calls, calls, groups)
    in_call = _calls_of_plane_tasks(timeline)
    parts = _transfers(timeline, in_call, described, groups, step, out.rank, notes)
    out.add("transfers", parts.drop("position", "in_call", "stream"))
    missed = calls.height - described["transit_ns"].count() if described.height else 0
    notes.add("ascend_call_not_on_timeline", file="communication.json", count=missed)
    types = timeline.texts["data_type"].texts()
    sizes = np.array([device_tasks.bytes_of_type(text) or 0 for text in types] + [0], np.int64)
    count, width = argument["count"][whole_calls], sizes[argument["data_type"][whole_calls]]
    fits = (count >= 0) & (width > 0) & (count < 1 << 56)
    message = np.where(fits, np.where(fits, count, 0) * width, NULL)
    own = (
        parts.filter(pl.col("in_call") != NONE)
        .group_by("in_call")
        .agg(
            pl.col("stream").drop_nulls().first(),
            peer=pl.when(pl.col("peer").filter(pl.col("kind") != "wait").n_unique() == 1).then(
                pl.col("peer").filter(pl.col("kind") != "wait").first()
            ),
        )
    )
    rows = described.join(own, left_on="position", right_on="in_call", how="left", maintain_order="left")
    out.add(
        "collectives",
        rows.select(
            pl.Series("slice", slices.id[whole_calls]),
            "group",
            "seq",
            "kind",
            "name",
            nullable(step[whole_calls], "step"),
            pl.Series("start_ns", slices.start[whole_calls]),
            pl.Series("end_ns", slices.end[whole_calls]),
            nullable(message, "bytes"),
            categorical(argument["data_type"][whole_calls], types).alias("dtype"),
            categorical(argument["algorithm"][whole_calls], timeline.texts["algorithm"].texts()).alias("algorithm"),
            pl.when(pl.col("kind").is_in(_PAIRWISE)).then("peer").alias("peer"),
            "stream",
            *TIMES,
        ),
    )
    _fill_slices(timeline, whole_calls, described["group"], in_call, message)
    return parts.height > 0


def _describe(timeline: TraceTimeline, whole_calls: Int64s, calls: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Per whole call: name, kind, number, group and the vendor's times."""
    slices = timeline.slices
    words = slices.names.texts()
    names = [words[code] or "" for code in slices.name[whole_calls].tolist()]
    digits = _by_last_digits(groups)
    bare = [name.partition("@")[0] for name in names]
    stated = [name.partition("@")[2] or None for name in names]
    endings = [device_tasks.group_digits(name) for name in names]
    rows = pl.DataFrame(
        {
            "position": whole_calls,
            "name": pl.Series(names, dtype=pl.String),
            "bare": pl.Series(bare, dtype=pl.String),
            "start": slices.start[whole_calls],
            "kind": pl.Series([device_tasks.collective_kind(name) for name in names], dtype=pl.String),
            "seq": pl.Series([device_tasks.call_number(name) for name in names], dtype=pl.Int64),
            "stated": pl.Series(stated, dtype=pl.String),
            "guess": pl.Series([digits.get(ending or "", ending) for ending in endings], dtype=pl.String),
        }
    )
    same_name = rows.select("position", "bare", "start").join(
        calls.select("group", "start_ns", *TIMES, bare="name"), on="bare", how="inner"
    )
    near = (pl.col("start") - pl.col("start_ns")).abs()
    alone = (pl.len().over("position") == 1) & (pl.len().over("bare", "group", "start_ns") == 1)
    best = (
        same_name.filter(alone | (near <= _SAME_START_NS))
        .sort(near, maintain_order=True)
        .unique("position", keep="first")
        .select("position", "group", *TIMES)
    )
    joined = rows.join(best, on="position", how="left", maintain_order="left")
    return joined.with_columns(group=pl.coalesce("group", "stated", "guess"))


def _by_last_digits(groups: pl.DataFrame) -> dict[str, str]:
    """Groups by the digits that calls carry in their names, where these tell one from the other."""
    by_digits: dict[str, list[str]] = {}
    for group in groups["group"].to_list() if groups.height else ():
        by_digits.setdefault(group[-3:], []).append(group)
    return {digits: listed[0] for digits, listed in by_digits.items() if len(listed) == 1}


def _calls_of_plane_tasks(timeline: TraceTimeline) -> Int64s:
    """Position of the whole call that each task on a plane is part of, NONE for all else."""
    slices = timeline.slices
    call = np.full(len(slices), NONE, np.int64)
    tasks = np.flatnonzero(timeline.on_layer("plane"))
    if len(tasks):
        row = np.full(len(timeline.columns.tracks), -1, np.int32)
        for plane, group in timeline.known_tracks.group_of_plane.items():
            row[plane] = group
        call[tasks] = slices.nesting.containing(row[slices.track[tasks]], slices.start[tasks])
    return call


def _transfers(
    timeline: TraceTimeline,
    in_call: Int64s,
    described: pl.DataFrame,
    groups: pl.DataFrame,
    step: Int64s,
    rank: int,
    notes: Notes,
) -> pl.DataFrame:
    """Rows of ``transfers``, with the positions of the task and of its call."""
    slices, argument, texts = timeline.slices, timeline.argument, timeline.texts
    kinds = [device_tasks.transfer_kind(str(word)) for word in texts["task_type"]] + [None]
    moves = np.array([kind is not None for kind in kinds])
    tasks = np.flatnonzero(timeline.on_layer("plane") & moves[argument["task_type"]])
    planes = np.full(len(timeline.columns.tracks) + 1, NULL, np.int64)
    for track, plane in timeline.known_tracks.plane.items():
        planes[track] = plane
    frame = pl.DataFrame(
        {
            "position": tasks,
            "in_call": in_call[tasks],
            "kind": categorical(argument["task_type"][tasks], [kind or "" for kind in kinds]),
            "plane": nullable(planes[slices.track[tasks]]),
            "source": nullable(argument["source"][tasks]),
            "peer": nullable(argument["peer"][tasks]),
            "transport": _transports(argument["link"][tasks], argument["transport"][tasks], texts),
            "step": nullable(step[tasks]),
            "bytes": nullable(argument["bytes"][tasks]),
            "time_ns": slices.dur[tasks],
            "packets": np.ones(len(tasks), np.int64),
            "stream": nullable(argument["stream"][tasks]),
        }
    )
    frame = frame.join(
        described.select("group", in_call="position", call="name"), on="in_call", how="left", maintain_order="left"
    )
    return _with_global_peers(frame, groups, rank, timeline.file, notes)


def _transports(link: npt.NDArray[np.int32], transport: npt.NDArray[np.int32], texts: dict[str, Codes]) -> pl.Series:
    links, transports = [*texts["link"].texts(), None], [*texts["transport"].texts(), None]
    words = Codes()
    codes = np.full((len(links), len(transports)), -1, np.int64)
    for row, word in enumerate(links):
        for column, other in enumerate(transports):
            if (kind_of_transport := device_tasks.transport(word, other)) is not None:
                codes[row, column] = words[kind_of_transport]
    return categorical(codes[link, transport], words.texts())


def _with_global_peers(frame: pl.DataFrame, groups: pl.DataFrame, rank: int, file: str, notes: Notes) -> pl.DataFrame:
    """Peers are ranks of the group; without its members they are believed where our own is our rank in the job."""
    limit = pl.col("peer").is_between(0, (1 << 31) - 1)
    frame = frame.with_columns(peer=pl.when(limit).then("peer"))
    members = members_of(groups)
    if members:
        members_of_groups = pl.DataFrame(
            [
                (group, rank_in_group, member)
                for group, ranks in members.items()
                for rank_in_group, member in enumerate(ranks)
            ],
            schema={"group": pl.String, "peer": pl.Int64, "global": pl.Int64},
            orient="row",
        )
        frame = frame.join(members_of_groups, on=["group", "peer"], how="left", maintain_order="left")
    else:
        frame = frame.with_columns(pl.lit(None, pl.Int64).alias("global"))
    listed = pl.col("group").is_in(list(members)).fill_null(False)
    ours = (pl.col("source") == rank).fill_null(False)
    lost = frame.filter(pl.col("peer").is_not_null() & pl.col("global").is_null() & (listed | ~ours)).height
    notes.add("ascend_peer_unmapped", file=file, count=lost)
    peer = pl.when(listed).then("global").when(ours).then("peer")
    return frame.with_columns(peer=peer).drop("source", "global")


def _fill_slices(
    timeline: TraceTimeline, whole_calls: Int64s, group: pl.Series, in_call: Int64s, message: Int64s
) -> None:
    slices = timeline.slices
    texts = Codes()
    code = np.full(len(slices), -1, np.int64)
    code[whole_calls] = [-1 if text is None else texts[text] for text in group.to_list()]
    parts = in_call != NONE
    code[parts] = code[in_call[parts]]
    slices.texts["group"] = (code, texts.texts())
    size = timeline.argument["bytes"].copy()
    size[whole_calls] = message
    slices.integers["bytes"] = size
