"""Lives of blocks: which event began each, which asked for its end, which ended it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.arrays import NULL, Bools, Int64s
from stepscope.readers.memory_snapshot.final_state import LARGEST_SIZE, Blocks
from stepscope.readers.memory_snapshot.trace_columns import Trace
from stepscope.readers.trace_json.codes import Codes

NEVER: Final = -1
PAST: Final = -2  # before the window
_ALLOC, _REQUEST, _END, _OTHER = range(4)
_MEANING: Final = {"alloc": _ALLOC, "free_requested": _REQUEST, "free_completed": _END, "free": _END}


@dataclass
class Lives:
    """One entry per block that the trace touches; numbers are positions in the trace, NEVER where there is none."""

    address: Int64s
    requested: Int64s
    born: Int64s  # NEVER: before the window
    asked: Int64s  # from here on (PAST: all the time) no longer allocated, yet perhaps active
    ended: Int64s  # NEVER: alive at the end, or lost
    lost_at: Int64s  # the address was given out again here although nothing had ended the block
    stray: int  # events that fit no block
    incomplete: int  # events without address or size

    def __len__(self) -> int:
        return len(self.address)

    @property
    def open(self) -> Bools:
        """Alive at the end."""
        alive: Bools = (self.ended == NEVER) & (self.lost_at == NEVER)
        return alive


def pair(trace: Trace, actions: Codes) -> Lives:
    """Pair the events of one device, address by address.

    A free without an allocation is of a block older than the window, if it is the first event of its address.
    """
    meaning = np.array([_MEANING.get(action, _OTHER) for action in actions] or [_OTHER])[trace.action]
    if not (meaning == _END).any():
        meaning[meaning == _REQUEST] = _END  # the recorder was told to skip the completions
    asks = bool((meaning == _REQUEST).any())
    is_life = meaning != _OTHER
    usable = is_life & (trace.address != NULL) & (trace.size >= 0) & (trace.size < LARGEST_SIZE)
    events = np.flatnonzero(usable)
    events = events[np.argsort(trace.address[events], kind="stable")]
    address, what = trace.address[events], meaning[events]
    before = _neighbour(what, address, 1)
    after, after_next = _neighbour(what, address, -1), _neighbour(what, address, -2)
    first = before == _OTHER

    begins = np.flatnonzero((what == _ALLOC) | (first & (what != _ALLOC)))
    here = what[begins]
    # Behind the request that this block's life holds, if any, comes its end.
    requested = (here == _REQUEST) | ((here == _ALLOC) & (after[begins] == _REQUEST))
    request = np.where(requested, begins + (here == _ALLOC), NEVER)
    last = np.where(here == _END, begins, begins + 1 + ((here == _ALLOC) & requested))
    last_is = np.where(here == _END, _END, np.where((here == _ALLOC) & requested, after_next[begins], after[begins]))
    ended = last_is == _END
    # An allocation may follow a stray event of the same address: look for the next one there.
    reborn = _next_allocation(what, address)[begins]
    lost = ~ended & (reborn != NEVER)

    def index_or_never(index: Int64s, wanted: Bools) -> Int64s:
        return np.where(wanted, events[np.minimum(index, len(events) - 1)], NEVER) if len(events) else index

    end = index_or_never(last, ended)
    asked = np.where(request != NEVER, index_or_never(request, request != NEVER), end)
    if asks:  # an end that nobody asked for within the window was asked for before it
        asked[here == _END] = PAST
    used = len(begins) - int((here == _REQUEST).sum()) - int((here == _END).sum())
    counted = used + int((request != NEVER).sum()) + int(ended.sum())
    return Lives(
        address=address[begins],
        requested=trace.size[events[begins]],
        born=np.where(here == _ALLOC, events[begins], NEVER),
        asked=asked,
        ended=end,
        lost_at=index_or_never(reborn, lost),
        stray=len(events) - counted,
        incomplete=int((is_life & ~usable).sum()),
    )


def with_older(lives: Lives, blocks: Blocks) -> tuple[Lives, Int64s]:
    """Add the blocks that are alive although no event began them; gives also the index of each life's block.

    ``blocks`` are those of the same device.
    """
    alive = np.flatnonzero(lives.open)
    order = np.argsort(blocks.address, kind="stable")
    known = blocks.address[order]
    at = np.minimum(np.searchsorted(known, lives.address[alive]), max(len(known) - 1, 0))
    known_blocks = known[at] == lives.address[alive] if len(known) else np.zeros(len(alive), bool)
    block_of = np.full(len(lives), NEVER, np.int64)
    block_of[alive[known_blocks]] = order[at[known_blocks]]
    older = np.setdiff1d(np.arange(len(blocks)), block_of)
    never = np.full(len(older), NEVER, np.int64)
    extended = Lives(
        address=np.append(lives.address, blocks.address[older]),
        requested=np.append(lives.requested, blocks.requested[older]),
        born=np.append(lives.born, never),
        asked=np.append(lives.asked, np.where(blocks.pending[older], PAST, NEVER)),
        ended=np.append(lives.ended, never),
        lost_at=np.append(lives.lost_at, never),
        stray=lives.stray,
        incomplete=lives.incomplete,
    )
    return extended, np.append(block_of, older)


def _neighbour(what: Int64s, address: Int64s, distance: int) -> Int64s:
    """What happened ``distance`` events before at the same address, _OTHER if nothing did."""
    neighbours = np.full(len(what), _OTHER, what.dtype)
    if distance > 0:
        same = address[distance:] == address[:-distance]
        neighbours[distance:][same] = what[:-distance][same]
    elif len(what) > -distance:
        same = address[:distance] == address[-distance:]
        neighbours[:distance][same] = what[-distance:][same]
    return neighbours


def _next_allocation(what: Int64s, address: Int64s) -> Int64s:
    """Index of the next allocation at the same address, NEVER if there is none."""
    allocations = np.flatnonzero(what == _ALLOC)
    at = np.searchsorted(allocations, np.arange(len(what)), side="right")
    following = np.append(allocations, NEVER)[at]
    return np.where((following != NEVER) & (address[following] == address), following, NEVER)
