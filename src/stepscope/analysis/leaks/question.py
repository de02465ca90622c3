"""The question ``leaks``: every site of every space is judged by itself."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.leaks.graphs import with_graphs
from stepscope.analysis.leaks.hidden_frees import frees_are_hidden
from stepscope.analysis.leaks.pools import at_step_ends, pool
from stepscope.analysis.leaks.sites import LEAK, Watched, judged_curve, judged_sites
from stepscope.analysis.leaks.structures import Graph, Leaks, Pool, Site
from stepscope.analysis.memory.coverage import covered, uncovered
from stepscope.analysis.memory.out_of_memory import capacity_of
from stepscope.analysis.memory.spaces import Space, spaces_of
from stepscope.analysis.memory.step_windows import StepWindows, step_windows
from stepscope.errors import NoAnswerError
from stepscope.facts.memory import memory_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore


@question()
def leaks(store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None) -> Answer[Leaks]:
    """Verdict, confidence and reason per site, leaks first. Only complete steps count, or those given."""
    limits = memory_facts().leaks
    warm_up: int = limits.warm_up_steps
    notes: list[Note] = []
    sites: list[Site] = []
    pools: list[Pool] = []
    graphs: list[Graph] = []
    temporary = recorded = most = most_marked = 0
    for rank in ranks_of(store, ranks):
        recorded_spaces, remarks_on_blocks = spaces_of(store, rank)
        notes += remarks_on_blocks
        spaces = _worth_judging(recorded_spaces)
        if not spaces:
            notes.append(Note("memory_not_recorded", rank=rank))
            continue
        recorded += 1
        marked = step_windows(store, rank).chosen(steps)
        told = [(space, covered(store, space, marked)) for space in spaces]
        for space, windows in told:
            notes += uncovered(space, marked, windows)
        most_marked = max(most_marked, len(marked))
        most = max(most, *(len(windows) for _, windows in told))
        judged = [(space, windows) for space, windows in told if len(windows) - warm_up >= limits.least_intervals]
        if len(judged) < len(told):
            fewest = min(len(windows) for _, windows in told)
            notes.append(Note("leaks_too_few_steps", rank=rank, params=_steps_needed(fewest)))
        if not judged:
            continue
        notes += _remarks(rank, judged)
        capacity = capacity_of(store, rank)
        for space, windows in judged:
            space_sites, left_out = _of_space(store, space, windows, capacity, warm_up)
            temporary += left_out
            space_sites, connected = with_graphs(space_sites, len(graphs))
            graphs += connected
            sites += space_sites
            explained = sum(site.bytes_per_step for site in space_sites if site.verdict == LEAK)
            pools.append(pool(space, windows, explained, warm_up))
    if not pools:
        if not recorded:
            raise NoAnswerError("memory_not_recorded")
        if most < most_marked:
            raise NoAnswerError("leaks_history_too_short", marked=most_marked, **_steps_needed(most))
        raise NoAnswerError("leaks_too_few_steps", **_steps_needed(most))
    sites = _with_other_ranks(sites)
    sites.sort(
        key=lambda site: (site.verdict != LEAK, -site.bytes_per_step if site.verdict == LEAK else -site.bytes_at_end)
    )
    rates = [site.bytes_per_step for site in sites if site.verdict == LEAK]
    return Answer(Leaks(sites, pools, graphs, temporary, warm_up, len(rates), sum(rates)), notes)


def _worth_judging(spaces: list[Space]) -> list[Space]:
    """Spaces with blocks, and allocators of which only the curve is known; sums of others repeat these."""
    parts = {(space.device, space.component) for space in spaces}

    def repeats(space: Space) -> bool:
        names = [name.strip() for name in space.component.split("+")]
        return len(names) > 1 and all((space.device, name) in parts for name in names)

    never = memory_facts().leaks.never_judged
    return [
        space
        for space in spaces
        if space.measure != "reserved" and len(space.time) and not repeats(space) and space.component not in never
    ]


def _of_space(
    store: RunStore, space: Space, windows: StepWindows, capacity: int | None, warm_up: int
) -> tuple[list[Site], int]:
    """The sites of a space, and how many temporary ones were left out."""
    hidden = space.blocks is not None and frees_are_hidden(store, space)
    watched = Watched(space, windows, warm_up, _room(space, capacity), hidden)
    if space.blocks is not None:
        sites, left_out = judged_sites(store, watched, space.blocks)
        if space.blocks.frame["stack"].count() or any(site.verdict == LEAK for site in sites):
            return sites, left_out
        # Without stacks a buffer that grows is at no site twice: its operator alone may tell.
        coarse, _ = judged_sites(store, watched, space.blocks, by_size=False)
        return [*(site for site in coarse if site.verdict == LEAK), *sites], left_out
    held = at_step_ends(space, space.measure, windows)
    return [judged_curve(watched, held, _most_held_by_recorder(store, space))], 0


def _most_held_by_recorder(store: RunStore, space: Space) -> int:
    """What a recorder in the same process may hold at the end: it keeps its events until the window is over."""
    limits = memory_facts().leaks
    if space.component not in limits.only_suspected:
        return 0
    events: int = slices_of(store, space.rank).select(pl.len()).collect().item()
    blocks_counted = "reserved" in space.lines  # beside the pages that they lie in
    return events * (limits.recorder_block_bytes_per_event if blocks_counted else limits.recorder_bytes_per_event)


def _room(space: Space, capacity: int | None) -> int | None:
    """Bytes that the device can still give."""
    if capacity is None or not space.accelerator:
        return None
    return max(capacity - int(space.line[-1]), 0)


def _remarks(rank: int, judged: list[tuple[Space, StepWindows]]) -> list[Note]:
    limits = memory_facts().leaks
    remarks = []
    fewest = min(len(windows) for _, windows in judged)
    if fewest - limits.warm_up_steps < limits.confirmed_intervals:
        params = {"steps": fewest, "advised": limits.advised_steps}
        remarks.append(Note("leaks_more_steps", rank=rank, params=params))
    for space, _ in judged:
        if space.blocks is None:
            remarks.append(Note("leaks_without_blocks", rank=rank, params={"component": space.component}))
            continue
        stack = space.blocks.frame["stack"]
        if stack.null_count() == len(stack):
            remarks.append(Note("leaks_without_stacks", rank=rank, params={"component": space.component}))
        lost = int(space.blocks.frame["lost_free"].sum())
        if lost:
            remarks.append(Note("memory_frees_lost", rank=rank, count=lost))
    return remarks


def _steps_needed(steps: int) -> dict[str, int]:
    limits = memory_facts().leaks
    return {
        "steps": steps,
        "needed": limits.warm_up_steps + limits.least_intervals,
        "advised": limits.advised_steps,
    }


def _with_other_ranks(sites: list[Site]) -> list[Site]:
    """On which ranks the same place leaks: everywhere is the program's fault, on one it is that rank's."""
    leaking: dict[tuple[str, str | None], set[int]] = {}
    for site in sites:
        if site.verdict == LEAK:
            leaking.setdefault((site.site, site.stack), set()).add(site.rank)
    return [
        msgspec.structs.replace(site, leaking_ranks=sorted(leaking.get((site.site, site.stack), ()))) for site in sites
    ]
