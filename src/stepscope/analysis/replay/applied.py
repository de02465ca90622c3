"""Changes applied to a replay: on which ranks each acts, what it finds there, and what is said if it finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stepscope.analysis.cluster.plan import plan_of
from stepscope.analysis.replay import links
from stepscope.analysis.replay.changes import NAME, Change
from stepscope.analysis.replay.effects import OF_CATEGORY, change_computing
from stepscope.analysis.replay.names import meant, named_work, names_of, near
from stepscope.analysis.replay.needs import Needs, like_its_peers, needs_of
from stepscope.analysis.replay.weights import Weights
from stepscope.analysis.replay.whole_rank import whole_rank
from stepscope.errors import NoAnswerError, StepscopeError, UsageError
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges


@dataclass(frozen=True)
class Applied:
    """A change, the names that it means, and how long that took as recorded, over all steps and ranks."""

    change: Change
    names: list[str]
    took_ns: int


def _everybody(rank: int) -> bool:
    del rank
    return True


@dataclass(frozen=True)
class Prepared:
    """A change that can be applied to one rank after the other.

    ``effect`` changes the weights of a rank and gives the nanoseconds that took what it changed. ``peers`` are ranks
    whose needs must be known before. ``missing`` makes the error if there was nothing to change on any of some ranks.
    """

    change: Change
    effect: Callable[[Weights, int], int]
    missing: Callable[[list[int]], StepscopeError]
    names: list[str] = field(default_factory=list)
    concerns: Callable[[int], bool] = _everybody
    peers: frozenset[int] = frozenset()

    def applied_to(self, weights: Weights) -> int:
        """Apply it to all ranks of a replay that it concerns; nanoseconds that it found there."""
        took = 0
        for part_index, rank in enumerate(weights.replay.ranks):
            if self.concerns(rank):
                weights.touched.add(part_index)
                took += self.effect(weights, part_index)
        return took

    def after(self, took_ns: int, ranks: list[int]) -> Applied:
        """What it found in all; an error where it names ranks that are not there, or found nothing."""
        unknown = [rank for rank in self.change.ranks if rank not in ranks]
        if unknown:
            raise _no_such_rank(unknown[0], ranks)
        if not took_ns:
            raise self.missing(ranks)
        return Applied(self.change, self.names, took_ns)


class NeedsOfRanks:
    """What ranks need as recorded. Of those whose weights have been changed since, what they need then."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.known: dict[int, Needs] = {}

    def learn(self, weights: Weights, part_index: int) -> None:
        """Take down what a rank needs, of which nothing was changed yet."""
        self.known[weights.replay.ranks[part_index]] = needs_of(self.store, weights, part_index)

    def of(self, weights: Weights, rank: int) -> Needs:
        """What a rank needs in a replay; as recorded where it is no part of that replay."""
        ranks = weights.replay.ranks
        if rank in ranks and (part_index := ranks.index(rank)) in weights.touched:
            return needs_of(self.store, weights, part_index)
        if rank not in self.known:
            self.learn(weights, ranks.index(rank))
        return self.known[rank]


def prepared(store: RunStore, change: Change, ranks: list[int], needs: NeedsOfRanks) -> Prepared:
    """A change, ready to be applied to some ranks."""
    if change.subject == NAME:
        return _to_names(store, change, ranks)
    if change.subject in OF_CATEGORY:
        act = OF_CATEGORY[change.subject]
        return Prepared(
            change,
            lambda weights, part_index: act(store, weights, part_index, change),
            _nothing_there(change),
            concerns=change.concerns,
        )
    if change.subject == "link":
        return Prepared(change, links.faster_link(store, change), _nothing_there(change))
    return {"rank": _to_rank, "stage": _to_stage}[change.subject](store, change, needs)


def _to_names(store: RunStore, change: Change, ranks: list[int]) -> Prepared:
    """Operators take their kernels and their own time on the host along."""
    known = names_of(store, (part for rank in ranks if (part := whole_rank(store, rank)) is not None))
    names = meant(change.which, known)

    def effect(weights: Weights, part_index: int) -> int:
        slices, within = named_work(store, weights.replay.part(part_index), names)
        took = weights.scale_work(part_index, slices, change.factor)
        return took + weights.scale_host(part_index, within, change.factor)

    def missing(ranks: list[int]) -> StepscopeError:
        del ranks
        likely = near(change.which, known)
        code = "whatif_no_such_name_but" if likely else "whatif_no_such_name"
        return NoAnswerError(code, name=change.which, **({"near": ", ".join(likely)} if likely else {}))

    concerns = change.concerns if names else lambda rank: False
    return Prepared(change, effect, missing, sorted(names), concerns)


def _to_rank(store: RunStore, change: Change, needs: NeedsOfRanks) -> Prepared:
    number, stages = _number(change), stages_of(store)
    peers = frozenset(rank for rank in store.ranks if rank != number and stages.get(rank) == stages.get(number))
    like_peers = change.word == "median"

    def effect(weights: Weights, part_index: int) -> int:
        if not like_peers:
            return change_computing(weights, part_index, change.factor)
        others = [needs.of(weights, rank) for rank in _peers_in(weights)]
        return like_its_peers(store, weights, part_index, others) if others else 0

    def _peers_in(weights: Weights) -> list[int]:
        """Of a replay of several ranks those in it, else those whose needs are known."""
        there = weights.replay.ranks if weights.replay.joined else list(needs.known)
        return [rank for rank in there if rank in peers]

    def missing(ranks: list[int]) -> StepscopeError:
        if number not in ranks:
            return _no_such_rank(change.which, ranks)
        if not like_peers:
            return _nothing_there(change)(ranks)
        if not peers.intersection(ranks):
            return NoAnswerError("whatif_no_peers", rank=number)
        return NoAnswerError("whatif_rank_not_slower", rank=number)

    return Prepared(
        change,
        effect,
        missing,
        concerns=lambda rank: rank == number,
        peers=peers if like_peers else frozenset(),
    )


def _to_stage(store: RunStore, change: Change, needs: NeedsOfRanks) -> Prepared:
    del needs
    stages, number = stages_of(store), _number(change)
    return Prepared(
        change,
        lambda weights, part_index: change_computing(weights, part_index, change.factor),
        _nothing_there(change),
        concerns=lambda rank: stages.get(rank) == number,
    )


def stages_of(store: RunStore) -> dict[int, int | None]:
    """The pipeline stage of each rank, where that is known."""
    return {each.rank: each.pp for each in plan_of(store).ranks}


def _nothing_there(change: Change) -> Callable[[list[int]], StepscopeError]:
    return lambda ranks: NoAnswerError("whatif_nothing_there", change=change.text)


def _no_such_rank(rank: object, ranks: Sequence[int]) -> UsageError:
    return UsageError("no_such_rank", rank=rank, ranks=ranges(ranks))


def _number(change: Change) -> int:
    if not change.which.isdecimal():
        raise UsageError("bad_change", change=change.text)
    return int(change.which)
