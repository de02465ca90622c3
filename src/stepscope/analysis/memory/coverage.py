"""Steps whose allocations were all recorded.

A snapshot keeps its last events in a ring and the marks of steps in another: marks outlive the events of their steps.
"""

from __future__ import annotations

import numpy as np

from stepscope.analysis.foundation.capture_limits import allocations_are_overwritten
from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.spaces import Space
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore


def covered(store: RunStore, space: Space, windows: StepWindows) -> StepWindows:
    """The steps that began after the remaining history does."""
    blocks = space.blocks
    if blocks is None or not len(windows) or not allocations_are_overwritten(store, space.rank):
        return windows
    if not len(blocks.time):
        return windows.since(np.iinfo(np.int64).max)
    first = min(int(blocks.time[0]), int(space.time[0]))
    # A history that began with the steps may have its first event somewhat later.
    return windows.since(first) if _cut(blocks) or int(windows.end[0]) <= first else windows


def uncovered(space: Space, windows: StepWindows, used: StepWindows) -> list[Note]:
    """A note, if steps are left out."""
    count = len(windows) - len(used)
    return [Note("memory_steps_before_history", rank=space.rank, count=count, params={"device": space.device})][:count]


def _cut(blocks: Blocks) -> bool:
    """A block knows its stack only if it was allocated while the history was on: then its event was overwritten."""
    return bool((blocks.older & blocks.stays & blocks.frame["stack"].is_not_null().to_numpy()).any())
