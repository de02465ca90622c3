"""What-if for stages, links and the next limit of the input pipeline, held to the truth of simulated jobs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from analysis.launch_cases import Case
from stepscope.analysis.replay import effects
from stepscope.analysis.whatif import whatif
from stepscope.diagnosis.rules.bandwidth_contention import _slower_beside_computing
from stepscope.errors import NoAnswerError
from stepscope.simulate.scenario_files import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import RunStore, open_store

_TWO_STAGES: dict[str, Any] = {
    "extends": "healthy-3d",
    "plan": {"dp": 1, "tp": 1, "pp": 2, "micro_batches": 8},
    "workload": {"layers": 4},
}
_TWO_HOSTS: dict[str, Any] = {
    "extends": "healthy-ascend",
    "plan": {"dp": 4},
    "host": {"ranks": 2},
    "network": {
        "inside": "HCCS",
        "rates": {"HCCS": {"gb_per_s": 150.0, "latency_us": 5.0}, "RDMA": {"gb_per_s": 90.0, "latency_us": 8.0}},
    },
}


def _job(directory: Path, table: dict[str, Any], **fault: Any) -> tuple[RunStore, float]:
    """A simulated job with a fault, and what the step would gain without it, as a share."""
    whole = table | {"name": "job", "steps": 3, "faults": [fault | {"strength": "clear"}]}
    simulate(of_table(whole, "job"), directory / "job")
    store = open_store(directory / "job")
    assert store is not None
    (planted,) = json.loads((directory / "job" / "truth.json").read_text())["faults"]
    return store, planted["gain_share"]


def _gain(store: RunStore, change: str) -> float:
    gain = whatif(store, changes=[change]).data.gain_share
    assert gain is not None
    return gain


def test_a_stage_that_computes_faster_gains_what_its_fault_cost(tmp_path: Path) -> None:
    store, truth = _job(tmp_path, _TWO_STAGES, kind="stage_imbalance", cause="layers", stage=1)
    # The fault makes the step 1 / (1 - truth) times as long, and the stage with it.
    assert _gain(store, f"stage:1*{1 - truth}") == pytest.approx(truth, rel=0.25)
    assert _gain(store, "stage:0*0.8") < truth / 4, "the other stage waits anyway"
    with pytest.raises(NoAnswerError):
        whatif(store, changes=["stage:7*0.5"])


def test_a_faster_link_speeds_up_the_collectives_whose_slowest_link_it_is(tmp_path: Path) -> None:
    store, truth = _job(tmp_path, _TWO_HOSTS, kind="slow_link", cause="link", links=[[1, 2]])
    assert _gain(store, "link:1-2*4") == pytest.approx(truth, rel=0.1)
    assert _gain(store, "link:2-1*4") == _gain(store, "link:1-2*4")
    assert _gain(store, "link:0-1*4") == pytest.approx(0, abs=0.001), "another link is slower"


def test_a_faster_link_between_stages_speeds_up_what_goes_over_it(tmp_path: Path) -> None:
    store, truth = _job(tmp_path, _TWO_STAGES, kind="slow_link", cause="link", links=[[0, 1]])
    twice, four_times = (_gain(store, f"link:0-1*{factor}") for factor in (2, 4))
    assert truth / 2 < twice < four_times < truth * 1.1


def test_with_the_next_limit_of_the_pipeline_a_step_is_no_shorter_than_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of 384 us waits 200 us for its batch; the next slower stage needs 300 us for one."""
    case = Case()
    case.step(1, 0, 400)
    case.slice("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "annotation", 0, 200, step=1)
    case.launch((270, 280), (284, 384))
    store = case.store(tmp_path)
    verdict = SimpleNamespace(rank=0, period_us=384.0, potential_speedup=384 / 300, limited_by="Decode")
    monkeypatch.setattr(
        effects, "pipeline", lambda store, ranks: SimpleNamespace(data=SimpleNamespace(verdicts=[verdict]))
    )
    assert whatif(store, changes=["data=0"]).data.steps[0].changed_us == 184
    assert whatif(store, changes=["data=next"]).data.steps[0].changed_us == 300


def test_transfers_beside_computing_are_held_against_the_same_alone() -> None:
    """Two steps of two calls of 4 MiB: the first beside computing in 300 us, the second alone in 100 us."""
    rows = [
        (0, "dp", "all_reduce", 4 << 20, step, took * 1000, exposed * 1000)
        for step in (1, 2)
        for took, exposed in ((300, 0), (100, 100))
    ]
    columns = ["rank", "group", "kind", "bytes", "step", "transfer_ns", "exposed_transfer_ns"]
    calls = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        complete=pl.lit(value=True), peer=pl.lit(None, pl.Int32)
    )
    assert _slower_beside_computing(calls).row(0) == (0, 300.0, 100.0, 400.0)
    even = calls.with_columns(transfer_ns=pl.lit(100_000))
    assert _slower_beside_computing(even).is_empty()
