"""The question ``memory``: which space matters most, and everything about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.question import Option, question
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.memory.categories import categorised
from stepscope.analysis.memory.coverage import covered, uncovered
from stepscope.analysis.memory.curves import category_curves, curve, points_per_curve
from stepscope.analysis.memory.fragmentation import fragmentation
from stepscope.analysis.memory.lifetimes import lifetime_bins, lifetimes
from stepscope.analysis.memory.notes import remarks
from stepscope.analysis.memory.out_of_memory import capacity_of, out_of_memory
from stepscope.analysis.memory.owners import category_parts, owners
from stepscope.analysis.memory.peak import Moment, moment_at, peak
from stepscope.analysis.memory.phases import phases_of
from stepscope.analysis.memory.sites import sites_of
from stepscope.analysis.memory.spaces import Space, spaces_of
from stepscope.analysis.memory.step_balance import step_balance
from stepscope.analysis.memory.step_difference import chosen_steps, step_difference
from stepscope.analysis.memory.step_windows import StepWindows, step_windows
from stepscope.analysis.memory.structures import Memory, OutOfMemory, Peak
from stepscope.errors import NoAnswerError
from stepscope.facts.memory import memory_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges


@question()
def memory(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    at_ns: Annotated[int | None, Option("at")] = None,
    device: str | None = None,
) -> Answer[Memory]:
    """Memory of these ranks. Owners are those at the highest moment (of the steps given), or at ``at_ns``."""
    recorded = _recorded(store, ranks, device)
    spaces, notes = recorded.spaces, recorded.notes
    if not spaces:
        raise NoAnswerError("memory_not_recorded") if device is None else NoAnswerError("no_such_device", device=device)
    highest = _highest_moments(recorded, steps)
    main = _fullest(spaces, highest)
    space, peak_moment, windows = spaces[main], highest[main], recorded.windows[spaces[main].rank]
    with_curves = [each for each in spaces if each.lines[each.measure].any() or each is space]
    most_points = points_per_curve(len(with_curves))
    moment = peak_moment if at_ns is None else moment_at(space, at_ns)
    whole = covered(store, space, windows)
    details = _details(store, _ShownSpace(space, peak_moment, moment, windows, whole), steps, most_points)
    notes += [*remarks(store, space, windows), *uncovered(space, windows, whole)]
    return Answer(
        Memory(
            rank=space.rank,
            device=space.device,
            component=space.component,
            measure=space.measure,
            peak_bytes=peak_moment.bytes,
            peak_ns=peak_moment.time_ns,
            peak_step=windows.number_at(peak_moment.time_ns),
            at_ns=moment.time_ns,
            at_bytes=moment.bytes,
            out_of_memory=recorded.failures,
            peaks=_peaks(store, recorded, highest),
            curves=[curve(each, most_points) for each in with_curves],
            **details,
        ),
        notes,
    )


class _Recorded(NamedTuple):
    """What was recorded of some ranks: their spaces (on one device, if one was named), steps and failed requests."""

    spaces: list[Space]
    windows: dict[int, StepWindows]
    failures: list[OutOfMemory]
    notes: list[Note]


def _recorded(store: RunStore, ranks: Sequence[int] | None, device: str | None) -> _Recorded:
    recorded = _Recorded([], {}, [], [])
    for rank in ranks_of(store, ranks):
        of_rank, remarks_on_blocks = spaces_of(store, rank)
        windows = step_windows(store, rank)
        recorded.windows[rank] = windows
        recorded.notes.extend(remarks_on_blocks)
        recorded.failures.extend(out_of_memory(store, rank, of_rank, windows))
        recorded.spaces.extend(space for space in of_rank if device is None or space.device == device)
        if not of_rank:
            recorded.notes.append(Note("memory_not_recorded", rank=rank))
    return recorded


def _highest_moments(recorded: _Recorded, steps: Sequence[int] | None) -> list[Moment]:
    """The peak of each space, within the steps that were asked for."""
    chosen = {rank: windows.chosen(steps) if steps else None for rank, windows in recorded.windows.items()}
    if steps and not any(windows is not None and len(windows) for windows in chosen.values()):
        raise NoAnswerError("step_without_data", steps=ranges(steps))
    return [peak(space, chosen[space.rank]) for space in recorded.spaces]


def _peaks(store: RunStore, recorded: _Recorded, highest: list[Moment]) -> list[Peak]:
    """The peaks of all spaces, the largest first."""
    capacity = {rank: capacity_of(store, rank) for rank in recorded.windows}
    peaks = [
        _peak(space, moment, recorded.windows[space.rank], capacity[space.rank])
        for space, moment in zip(recorded.spaces, highest, strict=True)
    ]
    return sorted(peaks, key=lambda peak: -peak.peak_bytes)


class _ShownSpace(NamedTuple):
    """The space that all details are about: its highest moment, and the one whose owners are asked for."""

    space: Space
    highest: Moment
    moment: Moment
    windows: StepWindows
    whole: StepWindows  # steps whose allocations were all recorded


def _details(store: RunStore, shown: _ShownSpace, steps: Sequence[int] | None, most_points: int) -> dict[str, Any]:
    """Everything about one space; each curve has ``most_points`` at the most."""
    space, highest, moment, windows, whole = shown
    blocks = space.blocks
    balance = step_balance(space, whole)
    wanted = set(whole.chosen(steps).number.tolist())
    parts: dict[str, Any] = {
        "fragmentation": fragmentation(store, space, highest),
        "steps": [row for row in balance if row.step in wanted],
        "lifetimes": [],
        "lifetime_bins": [],
        "step_difference": None,
        "category_curves": [],
    }
    sites = pl.DataFrame(schema={"site": pl.UInt32, "label": pl.String, "operator": pl.String, "frames": pl.String})
    labels = pl.DataFrame(schema={"site": pl.UInt32, "category": pl.String, "confidence": pl.String})
    if blocks is not None:
        site, sites = sites_of(store, space.rank, blocks.frame)
        kinds = categorised(blocks, phases_of(store, space.rank, blocks, windows), windows)
        labels = kinds.with_columns(site)
        last_ns = int(np.append(space.time, blocks.time).max())
        pair = chosen_steps(whole, steps)
        parts |= {
            "lifetimes": lifetimes(blocks, windows, last_ns),
            "lifetime_bins": lifetime_bins(blocks),
            "category_curves": category_curves(blocks, kinds["category"], most_points),
        }
        if pair is not None:
            parts["step_difference"] = step_difference(blocks, site, sites, whole, balance, pair)
    alive = owners(space, moment, labels, sites, windows)
    return parts | {"owners": alive, "categories": category_parts(alive, moment.bytes)}


def _peak(space: Space, moment: Moment, windows: StepWindows, capacity: int | None) -> Peak:
    reserved = space.lines.get("reserved")
    held = int(reserved.max()) if reserved is not None and len(reserved) else None
    own = capacity if space.accelerator else None
    return Peak(
        rank=space.rank,
        device=space.device,
        component=space.component,
        measure=space.measure,
        peak_bytes=moment.bytes,
        peak_ns=moment.time_ns,
        peak_step=windows.number_at(moment.time_ns),
        first_bytes=int(space.line[0]) if len(space.line) else 0,
        last_bytes=int(space.line[-1]) if len(space.line) else 0,
        reserved_peak_bytes=held,
        capacity_bytes=own,
        headroom_bytes=own - (held or moment.bytes) if own is not None else None,
    )


def _fullest(spaces: list[Space], highest: list[Moment]) -> int:
    """The space to tell about: on an accelerator if any is used, of the framework's own allocator, the highest."""
    order = memory_facts().spaces.order

    def preference(index: int) -> tuple[bool, bool, int, int]:
        space = spaces[index]
        known = space.component.lower()
        rank = order.index(known) if known in order else len(order)
        used = highest[index].bytes > 0
        return not (space.accelerator and used), space.measure == "reserved", rank, -highest[index].bytes

    return min(range(len(spaces)), key=preference)
