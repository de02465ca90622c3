"""The calls of a whole job, matched piece by piece: what a replay needs of them, and what blame needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.matched import matched_calls
from stepscope.analysis.cluster.calls.paired import paired_calls
from stepscope.analysis.cluster.calls.pieces import call_pieces
from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.cluster.slowdown.call_times import CallTimes, CallTimesBuilder
from stepscope.analysis.cluster.waiting.delays import among_peers
from stepscope.analysis.cluster.waiting.on_planes import plane_waits
from stepscope.analysis.cluster.waiting.waits import waited, with_arrival
from stepscope.store.freed_memory import give_back
from stepscope.store.run_store import RunStore

_OF_DELAY: Final = ("rank", "step", "arrival_ns", "end_ns", "late_ns", "call")
_PAIR: Final = ("rank", "slice")


@dataclass(frozen=True)
class JobCalls:
    """``times`` of all calls; ``waits`` (rows of ``WAIT``), and ``late``: calls among peers, by which ranks are late.

    ``in_pipeline`` names the slices of sends and receives.
    """

    times: CallTimes | None
    waits: SpilledRows
    late: SpilledRows
    in_pipeline: SpilledRows


def job_calls(
    store: RunStore, plan: ParallelPlan, also: Callable[[pl.DataFrame, pl.DataFrame], None] | None = None
) -> JobCalls:
    """Of all captured ranks. ``also`` gets each piece: its calls of groups, and its sends with their receives."""
    times = CallTimesBuilder(plan)
    waits, late, in_pipeline = SpilledRows(), SpilledRows(), SpilledRows()
    recorded = plane_waits(store)
    for piece in call_pieces(store):
        matched, paired = matched_calls(store, piece), paired_calls(store, piece)
        times.add(matched, paired)
        if also is not None:
            also(matched, paired)
        late.add(among_peers(store, matched.select(_OF_DELAY)))
        in_pipeline.add(paired.select(_PAIR))
        for calls in (matched, paired):
            waits.add(waited(calls, recorded))
        here = pl.concat([calls.select(_PAIR) for calls in (matched, paired)])
        waits.add(with_arrival(recorded.join(here, on=_PAIR, how="semi", maintain_order="left"), matched, paired))
        recorded = recorded.join(here, on=_PAIR, how="anti", maintain_order="left")
        del matched, paired
        give_back()
    waits.add(with_arrival(recorded, matched_calls(store, store.scan("collectives").head(0))))
    return JobCalls(times.finished(), waits, late, in_pipeline)
