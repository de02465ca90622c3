"""Ranks and parts of a job: means, marks, order, choice, and that they are worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.analysis.cluster import job
from stepscope.analysis.cluster.rank_rows import RankRow
from stepscope.errors import NoAnswerError, UsageError
from stepscope.run import Run
from stepscope.simulate.scenario import FaultEntry, Host, Plan
from stepscope.simulate.writing import simulate
from support.samples import open_sample
from support.scenarios import NPU, small

_SLOW = 5


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hosts of four ranks, two stages; rank 5 computes longer."""
    fault = FaultEntry(kind="slow_rank", cause="compute", ranks=(_SLOW,), amount=1.5)
    plan = Plan(dp=4, pp=2, micro_batches=4)
    scenario = small(NPU, plan=plan, faults=(fault,), host=Host(ranks=4), steps=3)
    return simulate(scenario, tmp_path_factory.mktemp("job") / "run").directory


@pytest.fixture
def run(written: Path) -> Iterator[Run]:
    yield stepscope.load(written)


def _rows(run: Run, **chosen: Any) -> list[RankRow]:
    """``Run.ranks`` are the numbers of the ranks, so the question is asked by name."""
    rows: list[RankRow] = run.ask("ranks", **chosen).data.ranks
    return rows


def test_means_of_a_rank_are_those_of_summary(run: Run) -> None:
    """The same value under the same name, whoever is asked; the parts add up to the period."""
    summary = {each.rank: each for each in run.summary().ranks}
    for row in _rows(run):
        of_summary = summary[row.rank]
        for field in ("period_us", "computing_us", "exposed_communication_us", "idle_us", "tail_us", "interval_us"):
            assert getattr(row, field) == pytest.approx(getattr(of_summary, field), abs=0.001)
        parts = (row.computing_us, row.exposed_communication_us, row.exposed_copy_us, row.idle_us, row.overlap_us)
        assert row.period_us == pytest.approx(sum(part or 0.0 for part in parts), abs=0.01)


def test_the_slow_rank_stands_apart_and_is_what_others_wait_for(run: Run) -> None:
    """Rank 5 alone; it is in stage 1, whose ranks it is compared with."""
    rows = _rows(run, sort="caused_wait")
    assert rows[0].rank == _SLOW
    assert "computing_us" in rows[0].outliers
    assert [row.rank for row in rows if "computing_us" in row.outliers] == [_SLOW]
    assert all((row.wait_us or 0.0) <= (row.period_us or 0.0) for row in rows)
    assert [row.rank for row in _rows(run, outliers=True, sort="computing")][:1] == [_SLOW]


def test_the_deviation_of_a_rank_is_its_largest_distance_from_the_median_of_its_stage(run: Run) -> None:
    rows = _rows(run, sort="deviation")
    assert rows[0].rank == _SLOW
    peers = [row for row in rows if row.pp == rows[0].pp]
    fields = ("computing_us", "exposed_communication_us", "idle_us", "interval_us", "tail_us")
    away = [
        abs(getattr(rows[0], field) - median(getattr(row, field) for row in peers))
        for field in fields
        if getattr(rows[0], field) is not None
    ]
    assert rows[0].deviation_share == pytest.approx(max(away) / median(row.period_us or 0.0 for row in peers))


def test_ranks_are_chosen_by_stage_host_and_dimension(run: Run) -> None:
    """Megatron's order: stage 1 is ranks 4 to 7, which are the second host; data-parallel index 2 is 2 and 6."""
    assert [row.rank for row in _rows(run, stage=1)] == [4, 5, 6, 7]
    assert [row.rank for row in _rows(run, host="host001")] == [4, 5, 6, 7]
    assert [row.rank for row in _rows(run, dimension="dp=2")] == [2, 6]
    assert [row.rank for row in _rows(run, ranks=[3, 1])] == [1, 3]
    with pytest.raises(NoAnswerError):
        _rows(run, stage=9)
    with pytest.raises(UsageError):
        _rows(run, dimension="sideways=1")


def test_parts_are_means_of_their_ranks(run: Run) -> None:
    """Stages, hosts, lines and groups, by hand from the rows."""
    cluster = run.cluster()
    rows = {row.rank: row for row in cluster.ranks}
    assert [(each.index, each.ranks) for each in cluster.stages] == [(0, [0, 1, 2, 3]), (1, [4, 5, 6, 7])]
    assert [(each.host, each.ranks) for each in cluster.hosts] == [("host000", [0, 1, 2, 3]), ("host001", [4, 5, 6, 7])]
    assert [each.ranks for each in cluster.groups if each.dimension == "dp"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [each.ranks for each in cluster.groups if each.dimension == "pp"] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    for part in (*cluster.stages, *cluster.hosts, *cluster.by_dimension, *cluster.groups):
        own = [rows[rank].computing_us or 0.0 for rank in part.ranks]
        assert part.computing_us == pytest.approx(sum(own) / len(own), abs=0.002)
        assert part.slowest_rank == max(part.ranks, key=lambda rank: rows[rank].computing_us or 0.0)
    first, second = (each.computing_us or 0.0 for each in cluster.stages)
    assert cluster.stage_balance == pytest.approx(second / ((first + second) / 2))
    assert cluster.bubble is not None
    assert 0 < cluster.bubble.share < 1


def test_memory_and_rates_of_all_ranks(run: Run) -> None:
    """As the questions of each say."""
    peaks = {each.rank: each.peak_bytes for each in run.memory().peaks if not each.device.startswith("cpu")}
    rates = {each.rank: each.flops_per_s for each in run.flops().ranks}
    for row in _rows(run):
        assert row.peak_memory_bytes == peaks[row.rank]
        assert row.flops_per_s == pytest.approx(rates[row.rank])


def test_what_was_worked_out_is_kept_until_the_plan_changes(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process finds the answer; another plan makes another one."""
    before = stepscope.load(written).cluster()

    def never(*_: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(job, "rank_rows", never)
        assert stepscope.load(written).cluster() == before
        with pytest.raises(AssertionError):
            stepscope.load(written, parallel="tp=8").cluster()
    assert len(stepscope.load(written, parallel="tp=8").cluster().stages) == 0
    assert len(stepscope.load(written, parallel="auto").cluster().stages) == 2


def test_one_rank_is_no_cluster(tmp_path: Path) -> None:
    """The error says what to give; its row can be shown all the same."""
    simulate(small(plan=Plan(), steps=2), tmp_path / "run", detail="steps")
    run = stepscope.load(tmp_path / "run")
    with pytest.raises(NoAnswerError) as error:
        run.cluster()
    assert error.value.code == "cluster_needs_ranks"
    assert [row.rank for row in _rows(run)] == [0]


def test_expert_load_over_ranks(shared_data: Path) -> None:
    """Tokens by rank as dumped, and the busiest against the mean."""
    run = open_sample(shared_data / "outside/msinsight/expert_hotspot")
    rows = _rows(run)
    counted = run.sql("SELECT rank, sum(value) AS tokens FROM reported WHERE key LIKE 'expert %' GROUP BY rank")
    assert {row.rank: row.expert_tokens for row in rows} == {rank: int(value) for rank, value in counted.iter_rows()}


def test_waiting_in_the_pipeline_is_unknown_where_no_send_has_found_its_receive(
    shared_data: Path, tmp_path: Path
) -> None:
    """A real job of four stages, without its sends: a bubble of 0 % would be an invention."""
    operations = pl.read_parquet(shared_data / "cluster/ndtimeline/trace-ST.parquet")
    receiving = operations.filter(~pl.col("optype").cast(pl.String).str.ends_with("-send"))
    receiving.write_parquet(tmp_path / "trace.parquet")
    cluster = stepscope.load(tmp_path / "trace.parquet", progress=False).cluster()
    assert len(cluster.stages) == 4
    assert cluster.bubble is None
    assert {part.pipeline_wait_us for part in cluster.stages} == {None}
    assert all(row.pipeline_wait_us is None and row.wait_us is not None for row in cluster.ranks)
