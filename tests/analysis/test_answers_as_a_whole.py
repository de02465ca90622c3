"""What an answer says of its rows as a whole: sums and medians that no face works out by itself."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import pytest

from analysis.captures import opened
from stepscope.analysis.critical_path import critical_path
from stepscope.analysis.launches.of_ranks import rank_activities, rank_rows
from stepscope.analysis.launches.types import Activity, Idle, RankActivity, StepLaunches
from stepscope.analysis.leaks import leaks
from stepscope.analysis.operators import operators
from support.samples import RECORDINGS, open_sample


def _idle(rank: int, step: int, span: float, host: float, data: float) -> Idle:
    none = dict.fromkeys(Idle.__struct_fields__, 0.0)
    told = {"rank": rank, "step": step, "span_us": span, "idle_us": host + data, "host_us": host, "data_us": data}
    return msgspec.convert(none | told | {"gaps": 1}, Idle)


def _launched(step: int, latency: float | None, share: float | None, bound: str | None) -> StepLaunches:
    return StepLaunches(0, step, 5, 5, latency, latency, latency, None, share, bound, None, None, step == 1)


def test_idle_time_and_latency_of_a_rank_are_those_of_the_steps_that_averages_count() -> None:
    # The first step is a warm-up; of rank 3 no step is counted, so that all of them are shown.
    idle = [_idle(0, 1, 900, 800, 0), _idle(0, 2, 100, 10, 5), _idle(0, 3, 300, 2, 43), _idle(3, 1, 50, 0, 0)]
    steps = [
        _launched(1, 90.0, 1.0, "host_bound"),
        _launched(2, 4.0, 0.25, "device_bound"),
        _launched(3, 6.0, 0.75, "device_bound"),
    ]
    first, second = rank_rows(idle, steps, {(0, 2), (0, 3)})
    assert (first.rank, first.idle_us, first.idle_share, first.cause) == (0, 60, 0.15, "data")
    assert (first.latency_median_us, first.host_bound_share, first.bound) == (5.0, 0.5, "device_bound")
    assert (second.rank, second.idle_share, second.latency_median_us, second.bound) == (3, 0.0, None, None)


def test_activities_of_a_rank_add_up_over_its_counted_steps() -> None:
    rows = [Activity(0, 1, "gc", 9.0, 1.0), Activity(0, 2, "gc", 2.0, 0.2), Activity(0, 2, "launch", 5.0, 0.5)]
    rows += [Activity(0, 3, "gc", 4.0, 1.0)]
    assert rank_activities(rows, {(0, 2), (0, 3)}) == [RankActivity(0, "gc", 6.0), RankActivity(0, "launch", 5.0)]


@pytest.mark.parametrize("name", ["gpu_graph.json.gz", "graph_serving.tar.gz", "torch_cpu_stepscope.tar.gz"])
def test_launches_call_a_rank_as_idle_as_its_summary_where_a_step_is_a_warm_up(name: str) -> None:
    run = open_sample(RECORDINGS / name)
    (mean,), (launched,) = run.summary().ranks, run.launches().ranks
    assert mean.statistics.warm_up_steps
    assert mean.idle_us is not None
    assert launched.idle_share == pytest.approx(mean.idle_us / mean.period_us, rel=1e-6)


@pytest.mark.parametrize("capture", ["kineto/gpt_stack.json.gz", "kineto/ddp4"])
def test_the_names_on_a_path_are_its_parts_put_together(capture: str) -> None:
    for path in critical_path(opened(capture)).data:
        together: dict[tuple[str, str | None], list[float]] = defaultdict(list)
        for part in path.path:
            together[part.bound, part.name].append(part.duration_us)
        told = {(entry.bound, entry.name): (entry.count, entry.duration_us) for entry in path.by_name}
        assert {key: count for key, (count, _) in told.items()} == {key: len(parts) for key, parts in together.items()}
        assert all(lasts == pytest.approx(sum(together[key])) for key, (_, lasts) in told.items())
        assert [entry.duration_us for entry in path.by_name] == sorted(
            (entry.duration_us for entry in path.by_name), reverse=True
        )


def test_shares_of_operators_are_shares_of_the_total_whatever_the_limit() -> None:
    store = opened("kineto/gpt_stack.json.gz")
    whole, limited = operators(store, by="kernel"), operators(store, by="kernel", limit=2)
    (device,) = (total for total in whole.beside["totals"] if total.side == "device")
    rows = whole.data.filter(side="device")
    assert device.total_us == pytest.approx(rows["total_us"].sum())
    assert device.groups == len(rows)
    assert device in limited.beside["totals"]


def test_the_rate_of_all_leaks_is_the_sum_of_the_sites() -> None:
    found = leaks(opened("memory/gpt_fp32_snap.snapshot.pickle")).data
    leaking = [site.bytes_per_step for site in found.sites if site.verdict == "leak"]
    assert (found.leaking_sites, found.leaking_bytes_per_step) == (len(leaking), sum(leaking))
