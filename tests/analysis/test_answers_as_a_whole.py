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


def _idle(rank: int, span: float, host: float, data: float) -> Idle:
    none = dict.fromkeys(Idle.__struct_fields__, 0.0)
    told = {"rank": rank, "step": 1, "span_us": span, "idle_us": host + data, "host_us": host, "data_us": data}
    return msgspec.convert(none | told | {"gaps": 1}, Idle)


def _launched(rank: int, latency: float | None, share: float | None, bound: str | None, warm_up: bool) -> StepLaunches:
    return StepLaunches(rank, 1, 5, 5, latency, latency, latency, None, share, bound, None, None, warm_up)


def test_idle_time_of_a_rank_is_the_sum_of_its_steps_and_warm_up_counts_in_no_median() -> None:
    idle = [_idle(0, 100, 10, 5), _idle(0, 300, 2, 43), _idle(3, 50, 0, 0)]
    steps = [
        _launched(0, 90.0, 1.0, "host_bound", warm_up=True),
        _launched(0, 4.0, 0.25, "device_bound", warm_up=False),
        _launched(0, 6.0, 0.75, "device_bound", warm_up=False),
    ]
    first, second = rank_rows(idle, steps)
    assert (first.rank, first.idle_us, first.idle_share, first.cause) == (0, 60, 0.15, "data")
    assert (first.latency_median_us, first.host_bound_share, first.bound) == (5.0, 0.5, "device_bound")
    assert (second.rank, second.idle_share, second.latency_median_us, second.bound) == (3, 0.0, None, None)


def test_activities_of_a_rank_add_up_over_its_steps() -> None:
    rows = [Activity(0, 1, "gc", 2.0, 0.2), Activity(0, 1, "launch", 5.0, 0.5), Activity(0, 2, "gc", 4.0, 1.0)]
    assert rank_activities(rows) == [RankActivity(0, "gc", 6.0), RankActivity(0, "launch", 5.0)]


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
