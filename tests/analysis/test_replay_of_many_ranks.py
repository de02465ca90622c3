"""More ranks than can be held together are replayed one by one: each as it is alone, compared with its peers' needs."""

from __future__ import annotations

import polars as pl
import pytest

from stepscope.analysis.replay import replay as joining
from stepscope.analysis.replay.changes import parse_change
from stepscope.analysis.replay.estimate import Estimate, estimate_of
from stepscope.analysis.whatif import whatif
from stepscope.errors import NoAnswerError
from stepscope.facts.replay import replay_facts
from stepscope.simulate.scenario_files import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import RunStore, open_store

_SLOW = 2


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    fault = {"kind": "slow_rank", "cause": "compute", "ranks": [_SLOW], "strength": "clear"}
    table = {"extends": "healthy", "name": "job", "plan": {"dp": 4}, "steps": 3, "faults": [fault]}
    out = tmp_path_factory.mktemp("simulated") / "job"
    simulate(of_table(table, "job"), out, detail="steps")
    store = open_store(out)
    assert store is not None
    return store


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "joined_replay", lambda store, ranks: None)
    monkeypatch.setattr("stepscope.analysis.replay.estimate.joined_replay", lambda store, ranks: None)


def _changed(estimate: Estimate | None, number: int = 0) -> pl.DataFrame:
    assert estimate is not None
    return estimate.changed(number)[0]


@pytest.mark.usefixtures("no_room")
def test_each_rank_is_replayed_as_it_is_alone(store: RunStore) -> None:
    changes = [[parse_change("communication*0.5")], [parse_change("host=0")]]
    together = estimate_of(store, store.ranks, changes)
    alone = [estimate_of(store, [rank], changes) for rank in store.ranks]
    for number in range(len(changes)):
        assert _changed(together, number).equals(pl.concat(_changed(each, number) for each in alone))


@pytest.mark.usefixtures("no_room")
def test_a_rank_becomes_like_its_peers_and_nobody_else_changes(store: RunStore) -> None:
    steps = _changed(estimate_of(store, store.ranks, [[parse_change(f"rank:{_SLOW}=median")]]))
    gain = (pl.col("replayed_ns") - pl.col("changed_ns")).sum()
    gains = dict(steps.group_by("rank").agg(gain=gain).iter_rows())
    assert gains.pop(_SLOW) > 0
    assert set(gains.values()) == {0}


@pytest.mark.usefixtures("no_room")
def test_ranks_that_no_change_concerns_can_be_left_out(store: RunStore) -> None:
    changes = [[parse_change("host@1=0")]]
    every, few = (estimate_of(store, store.ranks, changes, concerned_only=only) for only in (False, True))
    assert few is not None
    assert few.ranks == [1]
    assert _changed(few).equals(_changed(every).filter(pl.col("rank") == 1))


def test_too_many_moments_are_not_joined(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = joining.joined_replay(store, store.ranks)
    assert joined is not None
    moments = joined.first_node[-1] - 1
    limits = replay_facts()
    for most, fits in ((moments, True), (moments - 1, False)):
        size = type(limits.size)(most_moments=most)
        monkeypatch.setattr(joining, "replay_facts", lambda size=size: _with_size(limits, size))
        assert (joining.joined_replay(store, store.ranks) is not None) == fits


def _with_size(limits: object, size: object) -> object:
    class Limits:
        def __getattr__(self, name: str) -> object:
            return size if name == "size" else getattr(limits, name)

    return Limits()


def test_recorded_moments_are_the_earliest_ones_also_where_ranks_meet(store: RunStore) -> None:
    joined = joining.joined_replay(store, store.ranks)
    assert joined is not None
    assert joined.joined
    graph = joined.graph
    assert (graph.earliest() == graph.time - graph.time[0]).all()


@pytest.mark.usefixtures("no_room")
def test_one_by_one_is_reported(store: RunStore) -> None:
    answer = whatif(store, changes=["communication*0.5"])
    assert not answer.data.ranks_joined
    assert "replay_ranks_apart" in {note.code for note in answer.notes}
    with pytest.raises(NoAnswerError) as error:
        whatif(store, changes=["gc=0"])
    assert error.value.code == "whatif_nothing_there"
