"""How large a block really was: the trace has only what was asked for.

The allocator rounds requests up, and in segments of fixed size it does not split off a rest that is too small. Both
rules are PyTorch's (c10/cuda/CUDACachingAllocator.cpp; torch_npu adds 32 bytes first). Blocks alive at the end need
no rule, for the segments tell their size.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.arrays import NULL, Int64s
from stepscope.readers.memory_snapshot.block_lives import NEVER, Lives
from stepscope.readers.memory_snapshot.final_state import FinalState
from stepscope.readers.memory_snapshot.trace_columns import Trace
from stepscope.readers.trace_json.codes import Codes

_SMALLEST_BLOCK: Final = 512
_SMALL_POOL: Final = 1 << 20  # requests up to this come from the pool of small blocks; also the rest worth splitting
_NPU_PADDING: Final = 32
_FIRST_INTERVAL: Final = 20  # roundup_power2_divisions are given for 1 MB, 2 MB, ... 32 GB
_INTERVALS: Final = 16
_UNLIMITED: Final = 1 << 62


@dataclass(frozen=True)
class Rounding:
    """How an allocator rounds requests."""

    padding: int = 0
    divisions: tuple[int, ...] = (0,) * _INTERVALS
    unsplittable: int = _UNLIMITED  # blocks of this size and more are never split

    def rounded(self, requested: Int64s) -> Int64s:
        """Bytes that each request takes at least.

        >>> Rounding().rounded(np.array([1, 512, 513, 3_000_004])).tolist()
        [512, 512, 1024, 3000320]
        """
        size = requested + self.padding
        result = np.maximum(-(-size // _SMALLEST_BLOCK), 1) * _SMALLEST_BLOCK
        if any(division > 1 for division in self.divisions):
            exponent = np.frexp(np.maximum(size, 1).astype(np.float64))[1].astype(np.int64) - 1
            interval = np.clip(exponent - _FIRST_INTERVAL, 0, _INTERVALS - 1)
            division = np.array(self.divisions, np.int64)[interval]
            part = (np.int64(1) << exponent) // np.maximum(division, 1)
            divided = (division > 1) & (size > _SMALLEST_BLOCK * division) & (part > 0)
            result = np.where(divided, -(-size // np.maximum(part, 1)) * np.maximum(part, 1), result)
        return result


def rounding(settings: Any, state: FinalState) -> Rounding:
    """The rule of this snapshot: from its settings, and from the blocks whose request and size it tells."""
    divisions: tuple[int, ...] = (0,) * _INTERVALS
    unsplittable = _UNLIMITED
    if isinstance(settings, dict):
        stated = settings.get("roundup_power2_divisions")
        if isinstance(stated, dict):
            values = [stated.get(str(1 << interval)) for interval in range(_INTERVALS)]
            divisions = tuple(value if type(value) is int and 1 < value <= 1 << 20 else 0 for value in values)
        limit = settings.get("max_split_size")
        unsplittable = limit if type(limit) is int and limit > 0 else _UNLIMITED
    plain, padded = Rounding(0, divisions, unsplittable), Rounding(_NPU_PADDING, divisions, unsplittable)
    blocks = state.blocks
    exact = np.array([segment.expandable or segment.kind == "small" for segment in state.segments] or [False])
    known = exact[blocks.segment] if len(blocks) else np.zeros(0, bool)
    requested, size = blocks.requested[known], blocks.size[known]
    fits = [int((rule.rounded(requested) == size).sum()) for rule in (plain, padded)]
    return padded if fits[1] > fits[0] else plain


def sizes(lives: Lives, known: Int64s, regions: Regions, rule: Rounding) -> Int64s:
    """Bytes of each block while it lived; ``known`` has those that the segments tell, NULL elsewhere."""
    result = np.where(known == NULL, rule.rounded(lives.requested), known)
    if regions.initial or regions.changes:
        large = np.flatnonzero(result > _SMALL_POOL)
        _older_unsplit(lives, result, known, large, regions, rule)
        _take_unsplit_rests(lives, result, known, large, regions, rule)
    return result


class Regions:
    """Segments of fixed size: those at the start of the window, and how they came and went."""

    def __init__(self, trace: Trace, actions: Codes, state: FinalState, device: int) -> None:
        opened, closed = (actions.get(name, NEVER) for name in ("segment_alloc", "segment_free"))
        self.changes: list[tuple[int, int, int]] = []  # index in the trace, start, end (0: it went)
        self.initial = {
            segment.address: segment.address + segment.size
            for segment in state.segments
            if segment.device == device and not segment.expandable
        }
        for index in np.flatnonzero(np.isin(trace.action, (opened, closed)))[::-1].tolist():
            start, size = int(trace.address[index]), int(trace.size[index])
            if NULL in (start, size):
                continue
            if trace.action[index] == opened:
                self.changes.append((index, start, start + size))
                self.initial.pop(start, None)
            else:
                self.changes.append((index, start, 0))
                self.initial[start] = start + size
        self.changes.reverse()


def _older_unsplit(lives: Lives, size: Int64s, known: Int64s, large: Int64s, regions: Regions, rule: Rounding) -> None:
    """Blocks older than the window: free runs are never small, so a small gap behind one is part of it."""
    large = large[np.argsort(lives.address[large], kind="stable")]
    starts = lives.address[large].tolist()
    region_starts = sorted(regions.initial)
    for index in large[(lives.born[large] == NEVER) & (known[large] == NULL)].tolist():
        address, asked, ended = int(lives.address[index]), int(size[index]), int(lives.ended[index])
        around = bisect.bisect_right(region_starts, address) - 1
        limit = regions.initial[region_starts[around]] if around >= 0 else 0
        if address + asked > limit:
            continue
        reach = limit if asked >= rule.unsplittable else min(limit, address + asked + _SMALL_POOL)
        end = limit
        for other in large[bisect.bisect_left(starts, address + asked) : bisect.bisect_right(starts, reach)].tolist():
            if ended == NEVER or lives.born[other] < ended:  # they lived at one time
                end = int(lives.address[other])
                break
        if end <= reach:
            size[index] = end - address


def _take_unsplit_rests(
    lives: Lives, size: Int64s, known: Int64s, large: Int64s, regions: Regions, rule: Rounding
) -> None:
    """Replay the large blocks: one takes the free run it starts in whole if what would be left is small."""
    changes = [(event, 0, start, end) for event, start, end in regions.changes]
    changes += [(int(lives.born[index]), 2, index, 0) for index in large.tolist() if lives.born[index] != NEVER]
    ends = np.where(lives.lost_at != NEVER, lives.lost_at, lives.ended)
    changes += [(int(ends[index]), 1, index, 0) for index in large.tolist() if ends[index] != NEVER]
    changes.sort()
    starts = sorted(int(lives.address[index]) for index in large.tolist() if lives.born[index] == NEVER)
    region_end = dict(regions.initial)
    region_starts = sorted(region_end)
    for _, kind, what, end in changes:
        if kind == 0:
            _change_region(region_starts, region_end, what, end)
            continue
        address = int(lives.address[what])
        at = bisect.bisect_left(starts, address)
        if kind == 1:
            if at < len(starts) and starts[at] == address:
                del starts[at]
            continue
        around = bisect.bisect_right(region_starts, address) - 1
        limit = region_end[region_starts[around]] if around >= 0 else 0
        if address < limit and known[what] == NULL:
            run = min(limit, starts[at] if at < len(starts) else limit) - address
            asked = int(size[what])
            if run >= asked and (run - asked <= _SMALL_POOL or asked >= rule.unsplittable):
                size[what] = run
        starts.insert(at, address)


def _change_region(starts: list[int], end_of: dict[int, int], start: int, end: int) -> None:
    if end and start not in end_of:
        bisect.insort(starts, start)
        end_of[start] = end
    elif not end and end_of.pop(start, None) is not None:
        del starts[bisect.bisect_left(starts, start)]
