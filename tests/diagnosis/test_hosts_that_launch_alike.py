"""All hosts launch slowly: that is told of all of them, and not of the one that came to be the latest."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.launch_cases import BACKWARD, HELPER, OTHER_STREAM, Case
from diagnosis.cases import context, mean_step
from stepscope.analysis.foundation.dispatch_time import dispatch_time
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.measures.dispatching import Dispatching, as_busy_as, launches_like_others
from stepscope.simulate.scenario_files import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import open_store


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_job_whose_hosts_all_dispatch_too_slowly_names_all_of_them(tmp_path: Path, seed: int) -> None:
    scenario = {
        "extends": "healthy",
        "name": "dispatch",
        "seed": seed,
        "plan": {"dp": 4},
        "workload": {"layers": 4},
        "noise": "quiet",
        "faults": [{"kind": "host_bound", "cause": "dispatch", "strength": 0.3}],
    }
    simulated = simulate(of_table(scenario, "dispatch"), tmp_path / "run")
    store = open_store(simulated.directory)
    assert store is not None
    (finding,) = [each for each in work_out(store).findings if each.accuses]
    assert (finding.kind, finding.cause, finding.ranks) == ("host_bound", "dispatch", [0, 1, 2, 3])
    assert finding.gain_share == pytest.approx(simulated.truth["faults"][0]["gain_share"], rel=0.1)


def test_launching_is_counted_on_all_threads_that_launch_and_without_what_they_wait_for(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 1000)
    case.slice("aten::mm", "operator", 10, 60, step=1)
    case.launch((40, 50), (100, 150))
    case.slice("aten::item", "operator", 100, 300, step=1)
    case.slice("cudaStreamSynchronize", "runtime", 120, 290, step=1)
    case.launch((400, 500), (510, 560), thread=BACKWARD, stream=OTHER_STREAM)
    case.slice("aten::add", "operator", 600, 700, track=HELPER, step=1)
    time = dispatch_time(case.store(tmp_path), 0)
    # 50 in aten::mm, 200 - 170 in aten::item, 100 in a call on another thread; the third one launches nothing.
    assert (time.step.tolist(), time.whole.tolist()) == ([1], [180_000])
    # The long call may have waited for room in the queue.
    assert time.without_long_calls.tolist() == [80_000]


def _busy(busy_us: float, idle_us: float = 0.0) -> Dispatching:
    return Dispatching(busy_us=busy_us, surely_busy_us=busy_us, idle_us=idle_us)


def test_a_host_that_launches_longer_by_most_of_what_its_device_waits_is_slow_itself(tmp_path: Path) -> None:
    run = context(tmp_path, *(mean_step(rank) for rank in range(4)))
    vars(run)["dispatching"] = {rank: _busy(80.0) for rank in range(3)} | {3: _busy(95.0, 20.0)}
    assert not launches_like_others(run, 3, [0, 1, 2], 20.0)
    vars(run)["dispatching"][3] = _busy(82.0, 20.0)
    assert launches_like_others(run, 3, [0, 1, 2], 20.0)
    vars(run)["dispatching"][3] = _busy(82.0, 5.0)  # it waits for something else than launches
    assert not launches_like_others(run, 3, [0, 1, 2], 20.0)
    assert not launches_like_others(run, 3, [], 20.0)


def test_hosts_that_launch_nearly_all_of_the_step_are_reported_with_those_whose_devices_wait(tmp_path: Path) -> None:
    run = context(tmp_path, *(mean_step(rank) for rank in range(4)))
    period = run.times[0].period_us
    shares = {0: 1.0, 1: 0.97, 2: 0.8, 3: 0.99}
    vars(run)["dispatching"] = {rank: _busy(share * period) for rank, share in shares.items()}
    assert as_busy_as(run, [0]) == [1, 3]
