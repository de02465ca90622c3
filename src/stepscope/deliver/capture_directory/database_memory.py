"""Rows of the unified database about memory: curves, and blocks with their life; sizes are bytes here."""

from __future__ import annotations

from stepscope.deliver.capture_directory.memory_files import blocks_with_totals, curve_rows
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.capture_directory.sqlite_tables import Rows, Texts

_TOTALS = tuple(f"{moment}_{name}" for moment in ("alloc", "free") for name in ("allocated", "reserved", "active"))


def memory_rows(data: RankData, texts: Texts) -> Rows:
    """``MEMORY_RECORD``: the curves of the allocators."""
    rows = curve_rows(data).select("component", "time_ns", "allocated", "reserved", "active")
    return [(texts(row[0]), *row[1:], None, data.device_id) for row in rows.iter_rows()]


def allocation_rows(data: RankData, texts: Texts) -> Rows:
    """``OP_MEMORY``: a block from before the window is its release, with a negative size."""
    rows: Rows = []
    for row in blocks_with_totals(data).iter_rows(named=True):
        start, end, size = row["alloc_ns"], row["free_ns"], row["bytes"]
        lasted = None if start is None or end is None else end - start
        shown = (texts(row["operator"] or ""), size if start is not None else -size, start, end, None, lasted, None)
        rows.append((*shown, *(row[name] for name in _TOTALS), row["stream"], data.device_id))
    return rows
