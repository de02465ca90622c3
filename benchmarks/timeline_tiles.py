"""Tiles of a run of ten million slices, written straight into a store: time and bytes per tile and per screen."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from results import Row
from stepscope.analysis.timeline import wire
from stepscope.analysis.timeline.range_stats import range_stats
from stepscope.analysis.timeline.rows import RowRange
from stepscope.analysis.timeline.search import Question, search
from stepscope.analysis.timeline.slice_details import slice_details
from stepscope.analysis.timeline.tracks import tracks
from stepscope.analysis.timeline.view import TimelineView
from stepscope.store.rank_writer import RankWriter
from stepscope.store.run_store import Manifest, Part, RunStore, open_store, save

HERE: Final = Path(__file__).resolve().parent
_BASE_NS: Final = 1_700_000_000_000_000_000
_SPAN_NS: Final = 60_000_000_000
_HOST_TRACKS, _HOST_DEPTHS, _STREAMS = 32, 5, 32
_NAMES: Final = 400
_SCREEN_ROWS: Final = 50


def run(data: Path, slices: int = 10_000_000) -> list[Row]:
    """All rows about the timeline; the store is made in ``data`` if it is not there."""
    store = timeline_store(data, slices)
    view = TimelineView(store)
    rows = [_timed(f"open the timeline of {slices / 1e6:g} M slices", lambda: tracks(view, None), "", 1)]
    dice = np.random.default_rng(1)
    tile_ms, tile_cpu_ms, batch_ms, batch_bytes = _tiles(view, dice)
    rows += _percentiles("tile, 16 rows × 1024 bins", tile_ms, "ms", "p95 ≤ 50")
    rows += _percentiles("the same, without other work on the machine", tile_cpu_ms, "CPU ms", "p95 ≤ 50")
    rows += _percentiles(f"screen of {_SCREEN_ROWS} rows, one batch", batch_ms, "ms")
    rows.append(Row("largest batch", max(batch_bytes) / 1e6, "MB", "≤ 2"))
    columns = view.columns(0)
    rows.append(Row("columns of the rank", columns.bytes / len(columns.slice), "bytes per slice"))
    numbers = iter(columns.slice[dice.integers(0, len(columns.slice), 6)].tolist())
    rows.append(_timed("details of one slice", lambda: slice_details(view, 0, next(numbers)), "", 5))
    rows.append(_timed("search by text, all slices", lambda: search(view, Question("kernel_1")), "", 3))
    window = (_SPAN_NS // 3, _SPAN_NS // 3 + 2 * 10**9)
    rows.append(_timed("statistics, 50 rows × 2 s", lambda: range_stats(view, *window, [RowRange(0, 0, 49)]), "", 3))
    rows.append(_timed("statistics, all slices", lambda: range_stats(view, 0, _SPAN_NS, [RowRange(0)]), "", 1))
    return rows


def _tiles(view: TimelineView, dice: np.random.Generator) -> tuple[list[float], list[float], list[float], list[int]]:
    """Milliseconds of single tiles and of whole screens at all zoom levels and random places, nothing cached."""
    tile_ms, tile_cpu_ms, batch_ms, batch_bytes = [], [], [], []
    blocks = view.columns(0).rows // 16
    for level in range(0, 27, 2):
        tiles = max(1, _SPAN_NS // (1024 << level))
        for _ in range(12):
            index, block = int(dice.integers(0, tiles)), int(dice.integers(0, blocks))
            one = [wire.TileKey(0, block, level, index)]
            before = time.process_time()
            tile_ms.append(_milliseconds(partial(wire.slice_tiles, view, one))[0])
            tile_cpu_ms.append((time.process_time() - before) * 1e3)
        keys = [
            wire.TileKey(0, block, level, index + step) for step in range(2) for block in range(-(-_SCREEN_ROWS // 16))
        ]
        spent, body = _milliseconds(partial(wire.slice_tiles, view, keys))
        batch_ms.append(spent)
        batch_bytes.append(len(body))
    return tile_ms, tile_cpu_ms, batch_ms, batch_bytes


def _percentiles(what: str, values: list[float], unit: str, budget: str = "") -> list[Row]:
    middle, high = (float(np.percentile(values, share)) for share in (50, 95))
    return [Row(f"{what}, p50", middle, unit), Row(f"{what}, p95", high, unit, budget)]


def _timed(what: str, work: Callable[[], Any], budget: str, repeat: int) -> Row:
    return Row(what, min(_milliseconds(work)[0] for _ in range(repeat)), "ms", budget)


def _milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return (time.perf_counter() - began) * 1e3, result


def timeline_store(data: Path, slices: int) -> RunStore:
    """A run of one rank with that many slices, made unless it is there."""
    directory = data / f"timeline-{slices}"
    known = open_store(directory)
    if known is not None:
        return known
    (directory / "rank-0").mkdir(parents=True, exist_ok=True)
    writer = RankWriter(directory / "rank-0", 0)
    dice = np.random.default_rng(7)
    rows = _HOST_TRACKS * _HOST_DEPTHS + _STREAMS
    lanes = [(track, depth) for track in range(_HOST_TRACKS) for depth in range(_HOST_DEPTHS)]
    lanes += [(_HOST_TRACKS + stream, 0) for stream in range(_STREAMS)]
    first = 0
    for track, depth in lanes:
        writer.add("slices", _row(dice, track, depth, first, slices // rows))
        first += slices // rows
    writer.add("tracks", _tracks())
    writer.add("ranks", pl.DataFrame({"first_ns": [_BASE_NS], "last_ns": [_BASE_NS + _SPAN_NS]}))
    files = {
        table: {f"rank-0/{name}": count for name, count in found.items()} for table, found in writer.close().items()
    }
    merged = {table: files.pop(table) for table in ("tracks", "ranks")}
    part = Part(0, "generated", "generated", "", files, slices, 0, 0.0)
    return save(directory, Manifest("generated", "generated", [part], merged))


def _row(dice: np.random.Generator, track: int, depth: int, first: int, count: int) -> pl.DataFrame:
    """Slices of log-normal length with gaps between them, over the whole span."""
    dur, gap = dice.lognormal(7, 1.2, count), dice.lognormal(6, 1.5, count)
    scale = (_SPAN_NS - 1) / (dur.sum() + gap.sum())
    start = ((np.cumsum(dur + gap) - dur) * scale).astype(np.int64)
    room = np.append(start[1:], _SPAN_NS) - start
    names = pl.Series([f"kernel_{number}" for number in range(_NAMES)], dtype=pl.Categorical())
    return pl.DataFrame(
        {
            "slice": np.arange(first, first + count, dtype=np.uint32),
            "track": np.full(count, track, np.int32),
            "row": np.full(count, depth, np.int32),
            "start_ns": _BASE_NS + start,
            "dur_ns": np.minimum((dur * scale).astype(np.int64), room),
            "name": names.gather(dice.integers(0, _NAMES, count)),
            "kind": np.where(np.full(count, track < _HOST_TRACKS), "operator", "kernel"),
        }
    )


def _tracks() -> pl.DataFrame:
    count = _HOST_TRACKS + _STREAMS
    kinds = ["host"] * _HOST_TRACKS + ["stream"] * _STREAMS
    return pl.DataFrame(
        {
            "track": range(count),
            "kind": kinds,
            "name": [f"{kind} {track}" for track, kind in enumerate(kinds)],
            "process": kinds,
            "order": range(count),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=10_000_000)
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where the store is made")
    options = parser.parse_args()
    for row in run(options.data, options.slices):
        print(f"{row.what:45} {row.value:10.2f} {row.unit:16} {row.budget}")


if __name__ == "__main__":
    main()
