"""A simulated run in the store: our analyses give the model's own account of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stepscope
from stepscope.arrays import Int64s
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.run import Run
from stepscope.simulate.model import Result, build
from stepscope.simulate.outputs.store import write_store
from stepscope.simulate.scenario import Device, Host, Input, Plan, Scenario, Stage
from support.scenarios import CPU, GPU, LOADER, NPU, small

PLANS = [
    Plan(dp=4),
    Plan(dp=2, tp=2, pp=2, micro_batches=4),
    Plan(pp=2, chunks=2, micro_batches=4),
    Plan(dp=2, cp=2),
]


def simulated(scenario: Scenario, folder: Path, *, coarse: bool = False) -> tuple[Run, Result]:
    folder.mkdir()
    _, result = write_store(build(scenario), folder, coarse=coarse)
    return stepscope.load(folder, progress=False), result


def by_rank_and_step(run: Run, field: str) -> Int64s:
    rows = run.steps().sort("rank", "step")
    values = rows[field].to_numpy().reshape(len(run.ranks), -1) * 1000
    return np.asarray(np.rint(values), np.int64)


@pytest.mark.parametrize("coarse", [False, True], ids=["full", "steps"])
@pytest.mark.parametrize("device", [GPU, NPU], ids=lambda device: device.kind)
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_periods_and_computing_are_the_models_own(plan: Plan, device: Device, coarse: bool, tmp_path: Path) -> None:
    scenario = small(device, plan=plan, clocks="same")
    run, result = simulated(scenario, tmp_path / "run", coarse=coarse)

    before = scenario.steps_before
    assert (by_rank_and_step(run, "period_us") == result.periods.lengths(before)).all()
    assert (by_rank_and_step(run, "computing_us") == result.periods.computing[:, before:]).all()


def test_detail_does_not_change_the_run(tmp_path: Path) -> None:
    full, _ = simulated(small(), tmp_path / "full")
    coarse, _ = simulated(small(), tmp_path / "coarse", coarse=True)

    assert full.table("slices").collect().height > 4 * coarse.table("slices").collect().height
    fields = ["rank", "step", "period_us", "computing_us", "exposed_communication_us"]
    assert full.steps().select(fields).equals(coarse.steps().select(fields))


def test_waiting_in_collectives_is_reported_where_the_device_tells_it(tmp_path: Path) -> None:
    run, result = simulated(small(NPU, plan=Plan(dp=4)), tmp_path / "run")

    waits = (
        run.table("collectives").drop_nulls("step").group_by("rank").agg(pl.col("wait_ns").sum()).sort("rank").collect()
    )
    assert waits["wait_ns"].to_list() == result.periods.waiting[:, 3:].sum(axis=1).tolist()
    blamed = run.table("transfers").filter(pl.col("kind").cast(pl.String) == "wait").collect()
    assert blamed["time_ns"].sum() == int(result.periods.waiting[:, 3:].sum())
    assert run.table("collectives").filter(pl.col("seq").is_null()).collect().is_empty()


def test_members_of_a_group_meet_in_the_same_calls(tmp_path: Path) -> None:
    run, _ = simulated(small(plan=Plan(dp=4)), tmp_path / "run")

    calls = run.table("collectives").drop_nulls("step").collect()
    sizes = calls.group_by("group", "seq").agg(pl.col("bytes").n_unique(), ranks=pl.col("rank").n_unique())
    assert sizes["bytes"].unique().to_list() == [1]
    assert sizes["ranks"].unique().to_list() == [4]
    groups = {row["group"]: row["ranks"] for row in run.table("groups").collect().to_dicts()}
    assert groups["dp_0"] == [0, 1, 2, 3]


def test_without_an_accelerator_operators_are_the_work(tmp_path: Path) -> None:
    run, result = simulated(small(CPU, noise="none"), tmp_path / "run")

    assert (by_rank_and_step(run, "period_us") == result.periods.lengths(3)).all()
    assert set(run.table("tracks").collect()["kind"].cast(pl.String)) == {"host"}
    exposed = run.steps()["exposed_communication_us"]
    assert exposed.min() > 0  # type: ignore[operator]


def test_a_window_opens_while_earlier_work_still_runs(tmp_path: Path) -> None:
    run, _ = simulated(small(plan=Plan(dp=1)), tmp_path / "run")

    early = run.table("slices").filter(pl.col("step").is_null() & (pl.col("kind") == "kernel")).collect()
    assert early.height > 0
    assert run.summary().ranks[0].before_window_us > 0


def test_a_starving_job_names_its_slow_stage(tmp_path: Path) -> None:
    stages = (
        Stage(name="Reader", kind="TFReader", us=500.0),
        Stage(name="Decode", kind="Map", us=60_000.0, workers=2),
        Stage(name="Batch", kind="Batch", us=300.0),
    )
    run, result = simulated(small(plan=Plan(dp=1), input=Input(stages=stages), steps=10), tmp_path / "run")

    assert result.step_ns == pytest.approx(30_000_000, rel=0.05)
    (verdict,) = run.pipeline().verdicts
    assert (verdict.bound, verdict.op_name) == ("pipeline", "Decode")
    assert [finding.kind for finding in run.diagnose().findings][:1] == ["data_starved"]


def test_a_machine_is_as_busy_as_the_process_on_it(tmp_path: Path) -> None:
    run, _ = simulated(small(plan=Plan(dp=1), input=LOADER), tmp_path / "run")

    (machine,) = run.cpu().ranks
    assert machine.cores is not None and machine.process_cores is not None and machine.machine_busy_share is not None
    assert 1 < machine.process_cores < machine.cores
    assert machine.machine_busy_share * machine.cores == pytest.approx(machine.process_cores)


def test_a_host_that_launches_slowly_is_found_by_its_launches(tmp_path: Path) -> None:
    scenario = small(plan=Plan(dp=1), host=Host(operator_us=400.0))
    run, result = simulated(scenario, tmp_path / "run")

    (finding, *_) = run.diagnose().findings
    assert finding.kind == "host_bound"
    computing = result.periods.computing[0, 3:].sum()
    period = result.periods.lengths(3)[0].sum()
    assert finding.gain_share == pytest.approx(1 - computing / period, abs=0.05)


def test_a_run_is_named_after_its_scenario_ranks_and_seed(tmp_path: Path) -> None:
    first, _ = simulated(small(plan=Plan(dp=4)), tmp_path / "first")
    again, _ = simulated(small(plan=Plan(dp=4), seed=3), tmp_path / "again")
    name = small().name
    assert (first.window, again.window) == (f"simulated-{name}-4", f"simulated-{name}-4-seed-3")


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        simulated(small(NPU), tmp_path / name)
    simulated(small(NPU, seed=1), tmp_path / "other")

    def content(name: str) -> dict[str, bytes]:
        root = tmp_path / name
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}

    assert content("a") == content("b")
    assert content("a").keys() == content("other").keys()
    assert content("a") != content("other")


def test_clocks_of_hosts_differ_but_not_the_length_of_steps(tmp_path: Path) -> None:
    apart, _ = simulated(small(plan=Plan(dp=4), host=Host(ranks=2)), tmp_path / "apart")
    same, _ = simulated(small(plan=Plan(dp=4), host=Host(ranks=2), clocks="same"), tmp_path / "same")

    def starts(run: Run) -> list[int]:
        rows = run.table("steps").filter(pl.col("step") == 3).sort("rank").collect()
        return rows["host_start_ns"].to_list()

    moved = np.array(starts(apart)) - np.array(starts(same))
    assert moved[0] == moved[1] == 0
    assert moved[2] == moved[3] != 0
    assert np.allclose(by_rank_and_step(apart, "period_us"), by_rank_and_step(same, "period_us"), rtol=1e-5)


def test_a_stored_run_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    simulated(small(), tmp_path / "run")
    with pytest.raises(UsageError):
        stepscope.load(tmp_path / "run", window="other")
    next((tmp_path / "run").glob("rank-1-*/slices-0.parquet")).unlink()
    with pytest.raises(UnreadableInputError, match="some of its files are missing"):
        stepscope.load(tmp_path / "run")


@pytest.mark.parametrize("device", [GPU, NPU], ids=lambda device: device.kind)
def test_in_sink_mode_the_device_itself_waits_for_its_batch(device: Device, tmp_path: Path) -> None:
    stages = (
        Stage(name="Reader", kind="TFReader", us=500.0),
        Stage(name="Decode", kind="Map", us=80_000.0, workers=2),
        Stage(name="Batch", kind="Batch", us=300.0),
        Stage(name="DeviceQueue", kind="DeviceQueue", us=200.0),
    )
    scenario = small(device, plan=Plan(dp=1), input=Input(mode="sink", stages=stages), steps=10)
    run, result = simulated(scenario, tmp_path / "run")

    assert result.step_ns == pytest.approx(40_000_000, rel=0.05)
    (verdict,) = run.pipeline().verdicts
    assert (verdict.bound, verdict.op_name) == ("pipeline", "Decode")
    waits = run.table("slices").filter((pl.col("kind") == "wait") & (pl.col("phase") == "data")).collect()
    idle = sum(row["data_us"] for row in run.steps()["idle_by_cause"])
    assert idle * 1000 == pytest.approx(waits.filter(pl.col("step").is_not_null())["dur_ns"].sum(), rel=0.05)
