"""Blocks that a thread frees which nobody records.

PyTorch records memory only on the threads that it records. Those of gloo often hold the last reference to what was
communicated: its release is then missing in the capture, now and then and by chance.
"""

from __future__ import annotations

import polars as pl

from stepscope.analysis.leaks.growth import Course, Finding
from stepscope.analysis.memory.spaces import Space
from stepscope.facts.memory import memory_facts
from stepscope.store.run_store import RunStore


def frees_are_hidden(store: RunStore, space: Space) -> bool:
    """Whether threads of the host that communicate may free blocks of this space unseen."""
    if space.accelerator:
        return False
    on_host = pl.col("kind").cast(pl.String) == "host"
    tracks = store.scan("tracks", [space.rank]).filter(on_host).select("track")
    slices = store.scan("slices", [space.rank]).join(tracks, on="track", how="semi").select("slice")
    calls = store.scan("collectives", [space.rank]).select("slice").join(slices, on="slice", how="semi")
    return not calls.head(1).collect().is_empty()


def explained_by_hidden_frees(finding: Finding, course: Course, warm_up: int) -> Finding:
    """A leak keeps most of what its site allocates; if only few blocks remain, their release was not recorded."""
    stay, made = int(course.kept_blocks[warm_up:].sum()), int(course.allocations[warm_up:].sum())
    if not finding.leaks or not stay or stay > memory_facts().leaks.hidden_free_share * made:
        return finding
    return Finding(False, "frees_hidden", finding.start, {"blocks": str(stay), "allocations": str(made)})
