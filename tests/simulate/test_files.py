"""Written as files and read again, a simulated run is the one that goes straight into the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.layout.names import group_hash
from stepscope.run import Run
from stepscope.simulate.scenario import FaultEntry, Input, Plan, Scenario, Stage, Workload
from stepscope.simulate.writing import simulate
from support.scenarios import GPU, NPU, small

_STEP_FIELDS = [
    "period_us",
    "computing_us",
    "exposed_communication_us",
    "exposed_copy_us",
    "idle_us",
    "before_window_us",
]
#: Only PyTorch's captures tell forward and backward.
_PHASE_FIELDS = ["interval_us", "forward_backward_us", "tail_us"]
FORMS = ["kineto", "ascend-text", "ascend-text-Level0", "ascend-text-Level2"]
FORMS += ["ascend-db", "ascend-db-Level2", "mindspore-text", "mindspore-db"]
FORMS += ["kineto:split", "ascend-text:experts", "ascend-db:split"]
_PLANS: dict[str, dict[str, Any]] = {
    "": {"plan": Plan(dp=2, pp=2, micro_batches=4)},
    "split": {"plan": Plan(tp=2, cp=2)},
    "experts": {"plan": Plan(dp=2, ep=2, tp=2), "workload": Workload(layers=2, hidden=512, sequence=512, experts=4)},
}


def scenario_for(form: str) -> Scenario:
    form, _, job = form.partition(":")
    if form == "kineto":
        return small(GPU, **_PLANS[job], steps=3)
    framework = "mindspore" if form.startswith("mindspore") else "pytorch"
    level = form.rpartition("-")[2] if "Level" in form else "Level1"
    return small(NPU, **_PLANS[job], steps=3, framework=framework, level=level)


@pytest.fixture(scope="module", params=FORMS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run, Run]:
    """The form, the run straight from the store, and the one read from files."""
    folder = tmp_path_factory.mktemp("runs")
    scenario = scenario_for(request.param)
    simulate(scenario, folder / "direct")
    form = request.param.partition(":")[0].replace("mindspore", "ascend").partition("-Level")[0]
    simulate(scenario, folder / "files", form=form)
    cache = folder / "cache"
    return (
        request.param,
        stepscope.load(folder / "direct", progress=False),
        stepscope.load(folder / "files", store=cache, progress=False),
    )


def test_steps_are_the_same(both: tuple[str, Run, Run]) -> None:
    form, direct, read = both
    known = _STEP_FIELDS + ([] if form.startswith("mindspore") else _PHASE_FIELDS)
    fields = [field for field in known if field in direct.steps().columns]
    ours, theirs = (run.steps().sort("rank", "step").select("rank", "step", *fields) for run in (direct, read))
    assert ours.select("rank", "step").equals(theirs.select("rank", "step"))
    for field in fields:
        assert theirs[field].to_list() == pytest.approx(ours[field].to_list(), abs=0.002), field


def test_the_devices_of_ranks_are_the_same(both: tuple[str, Run, Run]) -> None:
    """A capture as text tells neither host nor device."""
    form, direct, read = both
    told = ["rank", "world_size", "device_kind"]
    if "text" not in form:
        told += ["device_index", "host", "device_name"]
    ours, theirs = (run.table("ranks").sort("rank").select(pl.col(told).cast(pl.String)) for run in (direct, read))
    assert theirs.collect().rows() == ours.collect().rows()


def test_kernels_are_the_same(both: tuple[str, Run, Run]) -> None:
    _, direct, read = both

    def kernels(run: Run) -> pl.DataFrame:
        rows = run.table("slices").filter((pl.col("kind") == "kernel") & pl.col("step").is_not_null())
        columns = ["rank", "start_ns", "dur_ns", "step", pl.col("name").cast(pl.String)]
        return rows.select(columns).sort("rank", "start_ns").collect()

    ours, theirs = kernels(direct), kernels(read)
    assert ours.height > 0
    assert theirs.equals(ours)


def test_communication_is_the_same(both: tuple[str, Run, Run]) -> None:
    form, direct, read = both

    def calls(run: Run) -> pl.DataFrame:
        rows = run.table("collectives").drop_nulls("step").collect()
        return rows.select("rank", "step", "start_ns", "end_ns", pl.col("kind", "group").cast(pl.String)).sort(
            "rank", "start_ns", "end_ns", "kind"
        )

    ours, theirs = calls(direct), calls(read)
    if not form.startswith("kineto"):
        ours = ours.with_columns(pl.col("group").map_elements(group_hash, return_dtype=pl.String))
    assert theirs.select("rank", "step", "start_ns", "end_ns", "kind").equals(
        ours.select("rank", "step", "start_ns", "end_ns", "kind")
    )
    assert theirs["group"].to_list() == ours["group"].to_list()


def test_what_a_kineto_trace_tells_of_collectives_is_read(tmp_path: Path) -> None:
    scenario = scenario_for("kineto")
    simulate(scenario, tmp_path / "direct")
    simulate(scenario, tmp_path / "files", form="kineto")
    columns = ["rank", "start_ns", "seq", "bytes", "peer"]
    tables = [
        stepscope.load(tmp_path / name, store=tmp_path / "cache", progress=False)
        .table("collectives")
        .drop_nulls("step")
        .select(columns)
        .sort("rank", "start_ns", "bytes")
        .collect()
        for name in ("direct", "files")
    ]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("form", ["kineto", "ascend-text", "ascend-db"])
def test_the_planted_fault_is_found_in_the_files_too(form: str, tmp_path: Path) -> None:
    device = GPU if form == "kineto" else NPU
    fault = FaultEntry(kind="slow_rank", cause="compute", ranks=(2,), strength=0.25)
    scenario = small(device, plan=Plan(dp=4), steps=4, faults=(fault,))
    done = simulate(scenario, tmp_path / "files", form=form)

    run = stepscope.load(tmp_path / "files", store=tmp_path / "cache", progress=False)
    found = [finding for finding in run.diagnose().findings if finding.kind == "slow_rank"]
    assert [finding.ranks for finding in found] == [[2]]
    assert found[0].gain_share == pytest.approx(done.truth["faults"][0]["gain_share"], rel=0.25)


@pytest.mark.parametrize("form", ["kineto", "ascend-text", "ascend-db"])
def test_the_same_seed_gives_the_same_files(form: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        simulate(scenario_for(form), tmp_path / name, form=form)
    first, second = (
        {
            str(path.relative_to(tmp_path / name)): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("a", "b")
    )
    assert first == second
    packed = [content for name, content in first.items() if name.endswith(".gz")]
    assert len(packed) == (4 if form == "kineto" else 0)
    assert {content[3:8] for content in packed} <= {bytes(5)}  # no name, no time of writing


def test_memory_of_a_kineto_trace_is_that_of_the_store(tmp_path: Path) -> None:
    leak = FaultEntry(kind="memory_leak", amount=64.0)
    scenario = small(GPU, plan=Plan(dp=2), steps=12, faults=(leak,))
    simulate(scenario, tmp_path / "direct")
    simulate(scenario, tmp_path / "files", form="kineto")
    direct = stepscope.load(tmp_path / "direct", progress=False)
    read = stepscope.load(tmp_path / "files", store=tmp_path / "cache", progress=False)

    def curve(run: Run) -> pl.DataFrame:
        columns = ["rank", pl.col("device").cast(pl.String), "time_ns", "allocated", "reserved"]
        return run.table("memory").select(columns).sort("rank", "time_ns", maintain_order=True).collect()

    def lives(run: Run) -> pl.DataFrame:
        rows = run.table("allocations").filter(pl.col("alloc_ns").is_not_null())
        return rows.select("rank", "address", "bytes", "alloc_ns", "free_ns").sort("rank", "address").collect()

    assert curve(direct).height > 0 and curve(read).equals(curve(direct))
    assert lives(direct).height > 0 and lives(read).equals(lives(direct))
    peaks = [[(peak.rank, peak.peak_bytes, peak.peak_step) for peak in run.memory().peaks] for run in (direct, read)]
    assert peaks[0] == peaks[1]
    leaks = [[site.bytes_per_step for site in run.leaks().sites if site.verdict == "leak"] for run in (direct, read)]
    assert leaks[0] == leaks[1] == [64 * 2**20] * 2  # the planted amount, on each rank


@pytest.mark.parametrize(("level", "told"), [("Level1", False), ("Level2", True)])
def test_level_2_tells_how_much_was_copied_and_where_to(level: str, told: bool, tmp_path: Path) -> None:
    loader = Input(copy_mb=3.0, stages=(Stage(name="Batch", us=100.0),))
    scenario = small(NPU, plan=Plan(dp=2), steps=3, level=level, input=loader)
    simulate(scenario, tmp_path / "files", form="ascend-text")

    run = stepscope.load(tmp_path / "files", store=tmp_path / "cache", progress=False)
    copies = run.table("slices").filter(pl.col("kind") == "copy")
    copies = copies.join(run.table("details"), on=["rank", "slice"], how="left")
    direction = pl.col("json").str.extract(r'"memcpy direction": ?"([^"]*)"')
    rows = copies.select("bytes", direction=direction).collect()
    assert rows.height > 0
    assert set(rows.iter_rows()) == {(3 * 10**6, "host to device") if told else (None, None)}


@pytest.mark.parametrize("form", ["ascend-text", "ascend-db"])
def test_calls_of_cann_are_the_same_in_files(form: str, tmp_path: Path) -> None:
    """Level 2 adds the runtime's own calls, each within one of the layer above."""
    fault = FaultEntry(kind="sync_stall", strength="clear")
    counts = {}
    for level in ("Level1", "Level2"):
        scenario = small(NPU, plan=Plan(dp=2), steps=3, level=level, faults=(fault,))
        simulate(scenario, tmp_path / level / "direct")
        simulate(scenario, tmp_path / level / "files", form=form)
        tables = [
            stepscope.load(tmp_path / level / name, store=tmp_path / "cache", progress=False)
            .table("slices")
            .filter((pl.col("kind") == "runtime") & pl.col("step").is_not_null())
            .select("rank", "start_ns", "dur_ns", pl.col("name").cast(pl.String))
            .sort("rank", "start_ns", "name")
            .collect()
            for name in ("direct", "files")
        ]
        assert tables[0].equals(tables[1])
        counts[level] = dict(tables[0].group_by("name").len().iter_rows())
    assert not [name for name in counts["Level1"] if name.startswith("Runtime@")]
    added = {name: count for name, count in counts["Level2"].items() if name not in counts["Level1"]}
    assert {name: counts["Level2"][name] for name in counts["Level1"]} == counts["Level1"]
    assert added == {
        "Runtime@KernelLaunchWithHandle": counts["Level1"]["Node@launch"],
        "Runtime@FftsPlusTaskLaunch": counts["Level1"]["Hccl@Launch_Ffts"],
        "Runtime@MemcpyAsync": counts["Level1"]["AscendCL@aclrtMemcpyAsync"],
        "Runtime@StreamSynchronize": counts["Level1"]["AscendCL@aclrtSynchronizeStream"],
    }


def test_a_call_of_the_runtime_lies_within_the_call_that_makes_it(tmp_path: Path) -> None:
    simulate(small(NPU, plan=Plan(dp=2), steps=3, level="Level2"), tmp_path / "run")
    run = stepscope.load(tmp_path / "run", progress=False)
    slices = run.table("slices").select("rank", "slice", "parent", pl.col("name").cast(pl.String)).collect()
    inner = slices.filter(pl.col("name").str.starts_with("Runtime@"))
    outer = inner.join(slices, left_on=["rank", "parent"], right_on=["rank", "slice"], suffix="_outer")
    assert outer.height == inner.height > 0
    assert set(outer.select("name", "name_outer").iter_rows()) == {
        ("Runtime@KernelLaunchWithHandle", "Node@launch"),
        ("Runtime@FftsPlusTaskLaunch", "Hccl@Launch_Ffts"),
        ("Runtime@MemcpyAsync", "AscendCL@aclrtMemcpyAsync"),
    }


@pytest.mark.parametrize("level", ["Level0", "Level1", "Level2"])
def test_the_level_changes_no_step(level: str, tmp_path: Path) -> None:
    runs: list[stepscope.Run] = []
    for other in ("Level1", level):
        simulate(small(NPU, plan=Plan(dp=2), steps=3, level=other), tmp_path / f"{len(runs)}")
        runs.append(stepscope.load(tmp_path / f"{len(runs)}", progress=False))
    assert runs[0].steps().equals(runs[1].steps())
