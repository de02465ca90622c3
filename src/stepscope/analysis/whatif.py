"""How long a step would take with something changed: a replay of all ranks (docs/metrics/replay.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.question import Words, question
from stepscope.analysis.foundation.single_kernels import has_single_kernels
from stepscope.analysis.foundation.units import Identifier, Microseconds, Share
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.replay.applied import Applied
from stepscope.analysis.replay.changes import parse_change
from stepscope.analysis.replay.estimate import Estimate, counted_rows, estimate_of
from stepscope.errors import NoAnswerError
from stepscope.facts.replay import replay_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

_MOST_NAMES: Final = 50


class AppliedChange(msgspec.Struct, frozen=True):
    """A change, which names it concerned, and how long all of that took per step as recorded, on all ranks together."""

    change: str
    names: list[str]
    recorded_us: Microseconds


class WhatIfStep(msgspec.Struct, frozen=True):
    """One step of one rank: as recorded, as replayed without a change, and with the changes."""

    rank: Identifier
    step: Identifier
    counted: bool
    period_us: Microseconds
    replayed_us: Microseconds
    changed_us: Microseconds


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the counted steps of the chosen ranks."""

    changes: list[AppliedChange]
    period_us: Microseconds
    changed_us: Microseconds
    gain_us: Microseconds
    gain_share: Share
    replay_error_share: Share
    unexplained_share: Share
    ranks_joined: bool
    steps: list[WhatIfStep]


@question()
def whatif(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    changes: Annotated[Sequence[str], Words()] = (),
) -> Answer[WhatIf]:
    """The replay always goes over all ranks, because they wait for each other; ``ranks`` and ``steps`` are shown."""
    wanted = [parse_change(each) for each in changes]
    shown = ranks_of(store, ranks)
    estimate = estimate_of(store, store.ranks, [wanted])
    if estimate is None:
        raise NoAnswerError("whatif_nothing_recorded")
    if estimate.error_share > replay_facts().errors.most_share:
        raise NoAnswerError("whatif_replay_misses", share=f"{100 * estimate.error_share:.1f}")
    if estimate.unexplained_share > replay_facts().errors.most_share and not has_single_kernels(store):
        raise NoAnswerError("whatif_whole_operations", share=f"{100 * estimate.unexplained_share:.1f}")
    rows, applied = estimate.changed()
    rows = rows.filter(pl.col("rank").is_in(shown))
    if steps:
        rows = rows.filter(pl.col("step").is_in(list(steps)))
    if rows.is_empty():
        raise NoAnswerError("whatif_nothing_recorded")
    return Answer(_answer(estimate, rows, applied), _notes(estimate, len(store.ranks)))


def _answer(estimate: Estimate, rows: pl.DataFrame, applied: list[Applied]) -> WhatIf:
    counted = rows.filter(pl.Series(counted_rows(rows)))
    totals = (counted[name].to_numpy().sum() for name in ("period_ns", "replayed_ns", "changed_ns"))
    period, replayed, changed = map(int, totals)
    every_step = estimate.steps["step"].n_unique()
    return WhatIf(
        changes=[
            AppliedChange(each.change.text, each.names[:_MOST_NAMES], each.took_ns / every_step / 1000)
            for each in applied
        ],
        period_us=period / len(counted) / 1000,
        changed_us=changed / len(counted) / 1000,
        gain_us=(replayed - changed) / len(counted) / 1000,
        gain_share=(replayed - changed) / replayed if replayed else 0.0,
        replay_error_share=estimate.error_share,
        unexplained_share=estimate.unexplained_share,
        ranks_joined=estimate.joined,
        steps=[
            WhatIfStep(rank, step, counts, before / 1000, again / 1000, after / 1000)
            for rank, step, counts, before, again, after in rows.iter_rows()
        ],
    )


def _notes(estimate: Estimate, ranks: int) -> list[Note]:
    notes = []
    if estimate.unexplained_share > replay_facts().errors.most_share:
        notes.append(Note("replay_unexplained", {"share": f"{100 * estimate.unexplained_share:.1f}"}))
    if len(estimate.ranks) < ranks:
        notes.append(Note("replay_without_ranks", count=ranks - len(estimate.ranks)))
    if len(estimate.ranks) > 1 and not estimate.joined:
        notes.append(Note("replay_ranks_apart"))
    if estimate.launches_missing:
        notes.append(Note("replay_without_launches"))
    return notes
