"""The question ``cluster``: what holds the whole job up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster.replay import replay_of
from stepscope.analysis.cluster.slowdown import Slowdown, slowdown_of
from stepscope.analysis.cluster.step_operations import step_operations
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.work import ranks_of
from stepscope.errors import NoAnswerError
from stepscope.facts.training_operations import training_operations_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore


class Cluster(msgspec.Struct, frozen=True):
    """A job as a whole; ``slowdown`` is null where the replay does not come close to the recorded steps."""

    slowdown: Slowdown | None


@question()
def cluster(store: RunStore, *, ranks: Sequence[int] | None = None) -> Answer[Cluster]:
    """Measured against ideal steps; ``ranks`` chooses whose lines are shown, the replay needs all."""
    shown = set(ranks_of(store, ranks))
    recorded = step_operations(store)
    replay = None if recorded is None else replay_of(recorded)
    if recorded is None or replay is None:
        raise NoAnswerError("no_step_operations")
    slowdown = slowdown_of(recorded, replay)
    if slowdown.replay_error_share > training_operations_facts().slowdown.most_replay_error_share:
        return Answer(Cluster(None), [Note("replay_misses", {"share": f"{100 * slowdown.replay_error_share:.1f}"})])
    lines = [each for each in slowdown.by_rank if each.rank in shown]
    return Answer(Cluster(msgspec.structs.replace(slowdown, by_rank=lines)))
