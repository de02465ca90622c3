"""The parallel plan: as given, as stated by files, as inferred from calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import stepscope
from analysis.stores import make_store
from stepscope.analysis.cluster.plan import ParallelPlan, plan_of
from stepscope.analysis.cluster.plan_coordinates import Source, from_groups, from_sizes
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.simulate.model import build
from stepscope.simulate.outputs.store import write_store
from stepscope.simulate.plan import Layout
from stepscope.simulate.scenario import Plan, Scenario, Workload
from stepscope.simulate.scenario_files import load_scenario, names, resized
from stepscope.store.run_store import RunStore
from support.samples import open_sample
from support.scenarios import small

_DIMENSIONS = ("dp", "tp", "pp", "ep", "cp")
_STATED: Source = ("stated", "stated", "stated")


def test_ranks_count_through_the_dimensions_in_megatrons_order() -> None:
    """By hand: 12 ranks, tp=2, pp=3, so dp=2; rank 7 is stage 1 (4 to 7), replica 1 (6, 7), tensor index 1."""
    known = from_sizes({"tp": 2, "cp": 1, "dp": 2, "pp": 3, "ep": 1}, ["tp", "cp", "dp", "pp"])
    assert {name: known.coordinate(name, 7) for name in _DIMENSIONS} == {"dp": 1, "tp": 1, "pp": 1, "ep": 0, "cp": 0}
    assert known.groups("tp")[:2] == [[0, 1], [2, 3]]
    assert known.groups("dp")[:2] == [[0, 2], [1, 3]]
    assert known.groups("pp")[0] == [0, 4, 8]


def test_another_order_of_ranks_gives_other_coordinates() -> None:
    """Pipeline before data: rank 7 of tp=2, pp=3, dp=2 is replica 1 (6 to 11), stage 0 (6, 7), tensor index 1."""
    known = from_sizes({"tp": 2, "cp": 1, "dp": 2, "pp": 3, "ep": 1}, ["tp", "cp", "pp", "dp"])
    assert {name: known.coordinate(name, 7) for name in ("dp", "tp", "pp")} == {"dp": 1, "tp": 1, "pp": 0}
    assert known.groups("pp")[0] == [0, 2, 4]


def test_experts_are_split_within_data_parallelism() -> None:
    """dp=4, tp=2, ep=2: replicas 0 and 1 hold different experts, 2 and 3 the same again."""
    known = from_sizes({"tp": 2, "cp": 1, "dp": 4, "pp": 1, "ep": 2}, ["tp", "cp", "dp", "pp"])
    assert [known.coordinate("ep", rank) for rank in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert known.groups("ep") == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_gradient_groups_may_hold_context_parallel_neighbours() -> None:
    """Ranks 0 and 1 see parts of one sample, so they have one data-parallel index."""
    known = from_groups({"cp": [[0, 1], [2, 3]], "dp": [[0, 1, 2, 3]]}, {}, 4, _STATED)
    assert [known.coordinate("dp", rank) for rank in range(4)] == [0, 0, 1, 1]
    assert [known.coordinate("cp", rank) for rank in range(4)] == [0, 1, 0, 1]
    assert (known.sizes["dp"], known.sizes["cp"]) == (2, 2)


def test_what_the_stated_groups_leave_is_data_parallel() -> None:
    """Stages (0 to 3, 4 to 7) and pairs are stated; two replicas are left, and that is said to be a conclusion."""
    groups = {"tp": [[0, 1], [2, 3], [4, 5], [6, 7]], "pp": [[0, 4], [1, 5], [2, 6], [3, 7]]}
    known = from_groups(groups, {}, 8, _STATED)
    assert [known.coordinate("dp", rank) for rank in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert known.groups("dp") == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert known.origin_of("dp") == ("inferred", "likely", "rest")


def test_a_rank_alone_knows_its_own_coordinates() -> None:
    """Only the groups of rank 5 are stated, as in one file of a large job."""
    known = from_groups({"tp": [[4, 5]], "dp": [[1, 3, 5, 7]], "pp": [[5, 13]]}, {}, 16, _STATED)
    assert {name: known.coordinate(name, 5) for name in ("dp", "tp", "pp")} == {"dp": 2, "tp": 1, "pp": 0}


def _scenario(name: str) -> Scenario:
    """A scenario of the library without its faults, which change no plan; fewer ranks and steps."""
    scenario = msgspec.structs.replace(load_scenario(name), faults=(), look_alikes=())
    scenario = resized(scenario, ranks=128 if name == "cluster" else None, steps=2, seed=None)
    plan = msgspec.structs.replace(scenario.plan, micro_batches=min(8, scenario.plan.micro_batches))
    return msgspec.structs.replace(scenario, plan=plan)


_CASES: dict[str, Scenario] = {
    **{name: _scenario(name) for name in names() if _scenario(name).world > 1},
    "context": small(plan=Plan(dp=2, cp=2, tp=2), steps=2),
    "interleaved": small(plan=Plan(dp=2, pp=2, chunks=2, micro_batches=4), steps=2),
    "scattered": small(
        plan=Plan(dp=4, tp=2),
        steps=2,
        workload=Workload(layers=4, hidden=1024, sequence=1024, vocabulary=4096, gradients="reduce_scatter"),
    ),
}


def _truth(scenario: Scenario) -> dict[int, dict[str, int]]:
    layout = Layout(scenario.plan, scenario.host.ranks)
    return {rank: layout.coordinates(rank) for rank in range(layout.world)}


def _coordinates(plan: ParallelPlan) -> dict[int, dict[str, int | None]]:
    return {each.rank: {name: each.coordinate(name) for name in _DIMENSIONS} for each in plan.ranks}


class _Opaque(RunStore):
    """A run whose files state no coordinates, and groups without a name."""

    def scan(self, table: str, ranks: list[int] | None = None) -> pl.LazyFrame:
        frame = super().scan(table, ranks)
        if table == "ranks":
            return frame.with_columns(pl.lit(None, pl.Int32).alias(name) for name in _DIMENSIONS)
        if table == "groups":
            return frame.with_columns(name=pl.lit(None, pl.String), dimension=pl.lit(None, pl.Categorical))
        return frame


@pytest.mark.parametrize("name", _CASES)
def test_stated_and_inferred_plans_are_those_of_the_simulated_job(name: str, tmp_path: Path) -> None:
    """The same coordinates from what the files state, and from the calls alone."""
    scenario = _CASES[name]
    store, _ = write_store(build(scenario, []), tmp_path, coarse=True)
    stated, inferred = plan_of(store), plan_of(_Opaque(store.directory, store.manifest))
    assert _coordinates(stated) == _truth(scenario)
    assert (stated.origin, inferred.origin) == ("stated", "inferred")
    # Experts that do not exist exchange nothing, and one replica of them is like all of data parallelism.
    assert _coordinates(inferred) == _truth(scenario)
    layout = Layout(scenario.plan, scenario.host.ranks)
    for dimension in ("tp", "pp"):
        members = [list(group.ranks) for group in layout.groups[dimension]]
        assert [each.ranks for each in stated.groups_of(dimension)] == sorted(members)
        assert [each.ranks for each in inferred.groups_of(dimension)] == sorted(members)


def test_one_rank_is_split_in_no_dimension(tmp_path: Path) -> None:
    """Whatever its files say about groups."""
    store, _ = write_store(build(small(plan=Plan(), steps=2), []), tmp_path, coarse=True)
    plan = plan_of(store)
    assert _coordinates(plan) == {0: dict.fromkeys(_DIMENSIONS, 0)}
    assert plan.confidence == "stated"


@pytest.mark.parametrize(("sent_bytes", "stages"), [(4_000, 1), (10_000_000, 2)])
def test_replicas_that_send_each_other_a_message_are_no_pipeline(sent_bytes: int, stages: int, tmp_path: Path) -> None:
    """Two ranks that reduce ten million bytes of gradients in each step."""
    calls = [
        {"rank": rank, "group": "0", "step": step, "start_ns": begin, "end_ns": begin + 10, **call}
        for rank in (0, 1)
        for step in (1, 2)
        for begin, call in (
            (step * 100 + 60, {"kind": "all_reduce", "bytes": 10_000_000}),
            (step * 100 + 80, {"kind": "receive" if rank else "send", "bytes": sent_bytes, "peer": 1 - rank}),
        )
    ]
    steps = [
        {"rank": rank, "step": step, "host_start_ns": step * 100, "host_end_ns": step * 100 + 100}
        for rank in (0, 1)
        for step in (1, 2)
    ]
    groups = [{"group": "0", "ranks": [0, 1]}]
    store = make_store(
        tmp_path,
        ranks=[{"rank": 0, "world_size": 2}, {"rank": 1, "world_size": 2}],
        collectives=calls,
        steps=steps,
        groups=groups,
    )
    assert len({each.coordinate("pp") for each in plan_of(store).ranks}) == stages


def _run(tmp_path: Path, plan: Plan | None = None) -> Path:
    directory = tmp_path / "run"
    directory.mkdir()
    write_store(build(small(plan=plan or Plan(dp=4, tp=2), steps=2), []), directory, coarse=True)
    return directory


def test_a_given_plan_counts_before_a_stated_one_and_is_remembered(tmp_path: Path) -> None:
    """The next question knows it without being told; auto goes back to what the files state."""
    path = _run(tmp_path)
    plan = plan_of(stepscope.load(path, parallel="pp=2,tp=2").store)
    assert (plan.origin, plan.size("dp"), plan.size("pp"), plan.size("tp")) == ("given", 2, 2, 2)
    assert plan_of(stepscope.load(path).store).stages == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7]}
    assert plan_of(stepscope.load(path, parallel="auto").store).origin == "stated"


def test_given_groups_count_too(tmp_path: Path) -> None:
    """As a plain file, or as msprof-analyze writes its groups."""
    path, plain, vendor = _run(tmp_path), tmp_path / "plain.json", tmp_path / "communication_group.json"
    groups = {"tp": [[0, 1], [2, 3], [4, 5], [6, 7]], "pp": [[0, 4], [1, 5], [2, 6], [3, 7]]}
    plain.write_text(json.dumps(groups))
    rows: list[dict[str, Any]] = [
        {"type": "collective", "rank_set": f"({', '.join(map(str, ranks))})", "group_name": "1", "pg_name": name}
        for name, many in groups.items()
        for ranks in many
    ]
    vendor.write_text(json.dumps({"comm_group_parallel_info": rows}))
    for file in (plain, vendor):
        plan = plan_of(stepscope.load(path, groups=file).store)
        assert [each.pp for each in plan.ranks] == [0, 0, 0, 0, 1, 1, 1, 1]
        assert [each.dp for each in plan.ranks] == [0, 0, 1, 1, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("tp=3", "plan_does_not_fit"),
        ("tp=2,pp=2,dp=4", "plan_does_not_fit"),
        ("tp=2,ep=3", "plan_experts_do_not_fit"),
        ("tp=0", "plan_not_understood"),
        ("speed=9", "plan_not_understood"),
        ("", "plan_not_understood"),
        ("tp=2,order=tp-dp", "plan_order"),
    ],
)
def test_a_wrong_plan_is_refused_and_not_remembered(tmp_path: Path, given: str, code: str) -> None:
    """Eight ranks; the error names the product and the number of ranks."""
    path = _run(tmp_path)
    with pytest.raises(UsageError) as error:
        stepscope.load(path, parallel=given)
    assert error.value.code == code
    assert error.value.message("zh")
    assert plan_of(stepscope.load(path).store).origin == "stated"


@pytest.mark.parametrize(
    ("content", "code"),
    [("[]", "plan_groups_file"), ("{", "cannot_read"), ('{"tp": [[0, 1], [1, 2]]}', "plan_rank_twice")],
)
def test_a_wrong_file_of_groups_is_refused(tmp_path: Path, content: str, code: str) -> None:
    """With a sentence that says what is wrong."""
    path, file = _run(tmp_path), tmp_path / "groups.json"
    file.write_text(content)
    with pytest.raises((UsageError, UnreadableInputError)) as error:
        stepscope.load(path, groups=file)
    assert error.value.code == code


def test_ndtimeline_states_stage_and_replica(shared_data: Path) -> None:
    """64 ranks of which each line stands for a tensor-parallel group of four."""
    plan = plan_of(open_sample(shared_data / "cluster/ndtimeline/trace-AR.parquet").store)
    assert {name: plan.size(name) for name in _DIMENSIONS} == {"dp": 4, "tp": 4, "pp": 4, "ep": 1, "cp": 1}
    assert plan.stages[3] == [48, 52, 56, 60]
    assert plan.of_rank[4].dp == 1


@pytest.mark.parametrize(
    ("capture", "sizes", "confidence"),
    [
        ("kineto/ddp4", {"dp": 4}, "likely"),  # DistributedDataParallel over gloo, by its script
        ("outside/hta/nccl_a100_rank0of2.json.gz", {"dp": 2}, "likely"),  # a ResNet in DistributedDataParallel
        ("outside/tracelens/b200_eager_nccl_rank0of8.json.gz", {"tp": 8}, "guess"),  # serving one model with eight GPUs
        ("ascend/text_level1", {"dp": 8}, "likely"),  # transfers name all eight members, two of which were captured
        ("mindinsight/cluster_pipeline4", {"pp": 2, "dp": 2}, "likely"),  # the file names say 2 stages of 4 ranks
    ],
)
def test_plans_of_real_captures(shared_data: Path, capture: str, sizes: dict[str, int], confidence: str) -> None:
    """What is known of these jobs otherwise."""
    plan = plan_of(open_sample(shared_data / capture).store)
    assert {each.dimension: each.size for each in plan.dimensions if each.size > 1} == sizes
    assert plan.confidence == confidence
    assert all(note.sentence("en") and note.sentence("zh") for note in plan.notes())
