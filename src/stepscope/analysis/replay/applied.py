"""Changes applied to a replay: on which ranks each acts, what it finds there, and what is said if it finds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepscope.analysis.cluster.plan import plan_of
from stepscope.analysis.replay import links
from stepscope.analysis.replay.changes import NAME, Change
from stepscope.analysis.replay.effects import OF_CATEGORY, compute, like_its_peers
from stepscope.analysis.replay.names import meant, named_work, names_of, near
from stepscope.analysis.replay.replay import Replay
from stepscope.analysis.replay.weights import Weights
from stepscope.errors import NoAnswerError, UsageError
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Applied:
    """A change, the names that it means, and how long that took as recorded, over all steps and ranks."""

    change: Change
    names: list[str]
    took_ns: int


def apply_changes(store: RunStore, replay: Replay, changes: Sequence[Change]) -> tuple[Weights, list[Applied]]:
    """The weights with all changes made, one after the other."""
    weights = Weights(replay)
    return weights, [_apply(store, weights, change) for change in changes]


def _apply(store: RunStore, weights: Weights, change: Change) -> Applied:
    ranks = [part.rank for part in weights.replay.parts]
    unknown = [rank for rank in change.ranks if rank not in ranks]
    if unknown:
        raise UsageError("no_such_rank", rank=unknown[0], ranks=", ".join(map(str, ranks)))
    if change.subject == NAME:
        return _apply_to_names(store, weights, change)
    if change.subject in OF_CATEGORY:
        chosen = [part_index for part_index, rank in enumerate(ranks) if change.concerns(rank)]
        took = sum(OF_CATEGORY[change.subject](store, weights, part_index, change) for part_index in chosen)
    else:
        took = {"rank": _rank, "stage": _stage, "link": links.faster_link}[change.subject](store, weights, change)
    if not took:
        raise NoAnswerError("whatif_nothing_there", change=change.text)
    return Applied(change, [], took)


def _apply_to_names(store: RunStore, weights: Weights, change: Change) -> Applied:
    """Operators take their kernels and their own time on the host along."""
    known = names_of(store, weights.replay.parts)
    names = meant(change.which, known)
    took = 0
    for part_index, part in enumerate(weights.replay.parts):
        if names and change.concerns(part.rank):
            slices, within = named_work(store, part, names)
            took += weights.scale_work(part_index, slices, change.factor)
            took += weights.scale_host(part_index, within, change.factor)
    if not took:
        likely = near(change.which, known)
        code = "whatif_no_such_name_but" if likely else "whatif_no_such_name"
        raise NoAnswerError(code, name=change.which, **({"near": ", ".join(likely)} if likely else {}))
    return Applied(change, sorted(names), took)


def _rank(store: RunStore, weights: Weights, change: Change) -> int:
    ranks = [part.rank for part in weights.replay.parts]
    number = _number(change)
    if number not in ranks:
        raise UsageError("no_such_rank", rank=change.which, ranks=", ".join(map(str, ranks)))
    part_index = ranks.index(number)
    if change.word != "median":
        return compute(weights, part_index, change.factor)
    stages = stages_of(store)
    peers = [
        other for other, rank in enumerate(ranks) if other != part_index and stages.get(rank) == stages.get(number)
    ]
    if not peers:
        raise NoAnswerError("whatif_no_peers", rank=number)
    took = like_its_peers(store, weights, part_index, peers)
    if not took:
        raise NoAnswerError("whatif_rank_not_slower", rank=number)
    return took


def _stage(store: RunStore, weights: Weights, change: Change) -> int:
    stages, number = stages_of(store), _number(change)
    part_indices = [
        part_index for part_index, part in enumerate(weights.replay.parts) if stages.get(part.rank) == number
    ]
    return sum(compute(weights, part_index, change.factor) for part_index in part_indices)


def stages_of(store: RunStore) -> dict[int, int | None]:
    """The pipeline stage of each rank, where that is known."""
    return {each.rank: each.pp for each in plan_of(store).ranks}


def _number(change: Change) -> int:
    if not change.which.isdecimal():
        raise UsageError("bad_change", change=change.text)
    return int(change.which)
