"""Whether a run holds something that only some captures record."""

from __future__ import annotations

import polars as pl

from stepscope.facts.devices import devices_facts
from stepscope.store.run_store import RunStore


def has_shapes(store: RunStore) -> bool:
    """Whether any slice carries the shapes of its inputs."""
    return (
        not store.scan("slices")
        .filter(pl.col("input_shapes").is_not_null())
        .select("slice")
        .head(1)
        .collect()
        .is_empty()
    )


def has_slices(store: RunStore, *kinds: str) -> bool:
    """Whether any slice is of one of these kinds."""
    chosen = store.scan("slices").filter(pl.col("kind").cast(pl.String).is_in(kinds))
    return not chosen.select("slice").head(1).collect().is_empty()


def has_backward(store: RunStore) -> bool:
    """Whether it is known which kernels belong to backward."""
    backward = store.scan("slices", store.ranks[:1]).filter(pl.col("phase").cast(pl.String) == "backward")
    return not backward.select("slice").head(1).collect().is_empty()


def frequency_tracks(store: RunStore) -> dict[int, int]:
    """By rank the track on which its device's frequency was recorded."""
    name = devices_facts().cube.measured.frequency_track
    rows = store.scan("tracks").filter(pl.col("name").cast(pl.String) == name).select("rank", "track").collect()
    return dict(rows.iter_rows())


def has_calls_until_end(store: RunStore) -> bool:
    """Whether some ranks logged all their calls up to the end of the job."""
    return not store.scan("ranks").filter(pl.col("calls_until_end")).head(1).collect().is_empty()
