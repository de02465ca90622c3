"""What the capture does not tell about memory, and which switch records it."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.foundation.capture_limits import host_memory_is_relative
from stepscope.analysis.memory.spaces import Space, settled_residual
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import byte_size


def remarks(store: RunStore, space: Space, windows: StepWindows) -> list[Note]:
    """Notes about the space that the answer tells about."""
    rank = space.rank
    notes: list[Note] = []
    if not len(windows):
        notes.append(Note("memory_without_steps", rank=rank))
    if space.blocks is None:
        return [*notes, Note("memory_without_blocks", rank=rank, params={"component": space.component})]
    blocks = space.blocks
    lost = int(blocks.frame["lost_free"].sum())
    if lost:
        notes.append(Note("memory_frees_lost", rank=rank, count=lost))
    born = ~blocks.older
    if born.any() and blocks.frame["stack"].is_null().to_numpy()[born].all():
        notes.append(Note("memory_without_stacks", rank=rank, count=int(born.sum())))
    if not space.stated:
        notes.append(Note("memory_without_curve", rank=rank, params={"component": space.component}))
    else:
        rest = settled_residual(space)[1]
        if len(rest) and int(rest.min()) < 0:
            notes.append(Note("memory_blocks_exceed_curve", rank=rank, params={"size": byte_size(-int(rest.min()))}))
        elif np.ptp(rest) if len(rest) else 0:
            notes.append(Note("memory_curve_has_more", rank=rank, params={"size": byte_size(int(np.ptp(rest)))}))
    if not space.accelerator and host_memory_is_relative(store, rank):
        notes.append(Note("memory_relative", rank=rank))
    return notes
