"""Without noise and faults a simulated step is what a formula says."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.facts.simulation import Transport
from stepscope.simulate.model import Result, build
from stepscope.simulate.network import Link, collective_cost
from stepscope.simulate.scenario import Device, Host, Input, Network, Operator, Plan, Scenario, Stage, Workload

FREE = Host(operator_us=0.0, latency_us=0.0, python_us=0.0)
NO_COST = Network(rates={"NVLINK": Transport(1e12, 0.0), "RDMA": Transport(1e12, 0.0)})


def passes(forward_us: float, backward_us: float, **other: object) -> Workload:
    """One kernel forward, one backward."""
    return Workload(
        layers=64,
        forward=(Operator(name="forward", count=1, kernel_us=forward_us),),
        backward=(Operator(name="backward", count=1, kernel_us=backward_us),),
        **other,  # type: ignore[arg-type]
    )


def run(plan: Plan, workload: Workload, **other: object) -> Result:
    settings: dict[str, object] = {
        "steps": 2,
        "steps_before": 1,
        "noise": "none",
        "host": FREE,
        "network": NO_COST,
        "input": Input(mode="none"),
    }
    return build(Scenario(name="formula", plan=plan, workload=workload, **(settings | other))).run()  # type: ignore[arg-type]


def bubble_share(result: Result) -> float:
    period = result.periods.lengths(1)
    return float(1 - result.periods.computing[:, 1:].sum() / period.sum())


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
@pytest.mark.parametrize(("stages", "micro_batches"), [(2, 2), (4, 8), (8, 8), (3, 7)])
def test_a_pipeline_needs_m_plus_p_minus_1_turns(schedule: str, stages: int, micro_batches: int) -> None:
    result = run(Plan(pp=stages, micro_batches=micro_batches, schedule=schedule), passes(100, 200))  # type: ignore[arg-type]

    assert result.step_ns == pytest.approx((micro_batches + stages - 1) * 300_000, rel=1e-6)
    assert bubble_share(result) == pytest.approx((stages - 1) / (micro_batches + stages - 1), rel=1e-5)


@pytest.mark.parametrize(("stages", "micro_batches", "chunks"), [(2, 4, 2), (4, 8, 2), (4, 8, 4)])
def test_the_interleaved_schedule_divides_the_bubble_by_its_chunks(
    stages: int, micro_batches: int, chunks: int
) -> None:
    result = run(Plan(pp=stages, micro_batches=micro_batches, chunks=chunks), passes(100, 200))

    turns = chunks * micro_batches
    assert bubble_share(result) == pytest.approx((stages - 1) / (turns + stages - 1), rel=1e-5)
    assert result.step_ns == pytest.approx((turns + stages - 1) * 300_000, rel=1e-6)


@pytest.mark.parametrize("members", [2, 4, 8])
def test_a_ring_all_reduce_sends_two_n_minus_1_nths(members: int) -> None:
    """Behind backward nothing hides it: the step is compute plus 2(n-1)/n bytes over bandwidth plus 2(n-1) hops."""
    network = Network(rates={"NVLINK": Transport(gb_per_s=50.0, latency_us=4.0)})
    workload = passes(100, 200, gradient_mb=80.0, buckets=1)
    result = run(Plan(dp=members), workload, network=network)

    rounds = 2 * (members - 1)
    expected_us = 300 + rounds / members * 80_000_000 / 50_000 + rounds * 4
    assert result.step_ns / 1000 == pytest.approx(expected_us, rel=1e-6)


def test_sharded_weights_are_gathered_after_their_update() -> None:
    """However far ahead the host is: backward, half the gradients to each, the update, half the weights from each."""
    network = Network(rates={"NVLINK": Transport(gb_per_s=50.0, latency_us=4.0)})
    update = (Operator(name="adam", count=1, kernel_us=700.0),)
    workload = passes(100, 200, gradient_mb=80.0, buckets=1, gradients="reduce_scatter", optimizer=update)
    result = run(Plan(dp=2), workload, network=network, steps=4)

    gradients_us, weights_us = 40_000_000 / 50_000 + 4, 20_000_000 / 50_000 + 4  # four and two bytes of each of 20 M
    assert result.step_ns / 1000 == pytest.approx(100 + 200 + gradients_us + 700 + weights_us, rel=1e-6)


def test_exchanges_of_a_layer_follow_each_other() -> None:
    """Where computing is free: two sums and two exchanges of tokens per layer and direction, then gradients, norm."""
    fast = Device(tflops=1e9, memory_gb_per_s=1e12, efficiency=1.0, least_kernel_us=0.0)
    network = Network(rates={"NVLINK": Transport(gb_per_s=100.0, latency_us=5.0)})
    workload = Workload(layers=3, hidden=512, sequence=1024, vocabulary=2, experts=4, buckets=1)
    result = run(Plan(dp=2, tp=2, cp=2, ep=2), workload, network=network, device=fast)

    tokens_of_rank = 1024 // 2
    handed_on = tokens_of_rank * 512 * 2  # bytes
    sums_us = 2 * 1 / 2 * handed_on / 100_000 + 2 * 5
    experts_us = 1 / 2 * handed_on / 100_000 + 5
    # Keys and values of the other half of a sequence, of the heads of this rank alone.
    keys_us = 1 / 2 * (2 * 1024 * 256 * 2) / 100_000 + 5
    layer_us = 2 * (2 * sums_us + 2 * experts_us + keys_us)
    weights = 3 * (4 * 512 * 512 // 2 + 8 * 512 * 512 // 2 * 2) + 2 * 512 * 2 // 2
    gradients_us = 2 * 3 / 4 * weights * 4 / 100_000 + 6 * 5
    norm_us = 2 * 8 / 100_000 + 2 * 3 * 5
    assert result.step_ns / 1000 == pytest.approx(3 * layer_us + gradients_us + norm_us, rel=1e-3)


def test_experts_compute_as_much_as_a_dense_layer_of_the_same_width() -> None:
    """Each token goes to one expert, which is as wide; what comes on top is the router, which reads what came in."""
    device = Device(tflops=100.0, memory_gb_per_s=1000.0, efficiency=1.0, least_kernel_us=0.0)
    size: dict[str, int] = {"layers": 3, "hidden": 512, "sequence": 256, "vocabulary": 64}
    dense, experts = (
        run(Plan(), Workload(**size, experts=count), device=device).step_ns  # type: ignore[arg-type]
        for count in (0, 1)
    )
    router = 3 * (1 + 1.5) * 3 * (256 * 512 * 2)  # bytes, at a byte per ps; layers, directions, reads and writes
    assert experts - dense == pytest.approx(router / 1000, rel=1e-3)


def test_between_hosts_the_slower_transport_counts() -> None:
    network = Network(rates={"NVLINK": Transport(200.0, 0.0), "RDMA": Transport(20.0, 0.0)})
    workload = passes(100, 200, gradient_mb=80.0, buckets=1)
    inside = run(Plan(dp=2), workload, network=network)
    across = run(
        Plan(dp=2), workload, network=network, host=Host(operator_us=0.0, latency_us=0.0, python_us=0.0, ranks=1)
    )

    assert inside.step_ns / 1000 == pytest.approx(300 + 80_000_000 / 200_000)
    assert across.step_ns / 1000 == pytest.approx(300 + 80_000_000 / 20_000)


def test_small_messages_take_the_tree() -> None:
    link = Link("RDMA", bytes_per_ns=10.0, latency_ns=5_000.0)

    small = collective_cost("all_reduce", 1_000, 8, [link])
    assert (small.algorithm, small.nanoseconds) == ("TREE", 6 * 5_000 + 2 * 1_000 / 10)
    assert collective_cost("all_gather", 8_000_000, 8, [link]).nanoseconds == 7 / 8 * 800_000 + 7 * 5_000
    assert collective_cost("send", 1_000, 2, [link]).nanoseconds == 5_000 + 100


@pytest.mark.parametrize(
    ("reader_us", "map_us", "workers", "expected_us"),
    [(500, 4_000, 2, 2_000), (3_000, 4_000, 4, 3_000), (100, 800, 4, 300)],
)
def test_input_throughput_is_that_of_the_slowest_stage(
    reader_us: float, map_us: float, workers: int, expected_us: float
) -> None:
    """A stage makes workers / time batches; where all are faster, the training itself (300 us) is the limit."""
    stages = (
        Stage(name="reader", us=reader_us),
        Stage(name="map", us=map_us, workers=workers),
        Stage(name="batch", us=50),
    )
    result = run(Plan(), passes(100, 200), input=Input(stages=stages, copy_mb=0), steps=40, steps_before=8)

    expected_us = max(expected_us, 320) if expected_us == 300 else expected_us  # 20 us to take a batch, no overlap here
    first, last = result.periods.device_end[0, 7], result.periods.device_end[0, -1]
    assert (last - first) / 40_000 == pytest.approx(expected_us, rel=0.07)


def test_a_host_bound_step_is_launches_times_launch_time() -> None:
    workload = Workload(
        forward=(Operator(name="tiny", count=300, kernel_us=2.0),),
        backward=(Operator(name="tiny", count=600, kernel_us=2.0),),
    )
    result = run(Plan(), workload, host=Host(operator_us=9.0, latency_us=3.0, python_us=0.0))

    assert result.step_ns == pytest.approx(900 * 9_000, rel=1e-9)


def test_a_device_bound_host_runs_ahead_as_far_as_its_queue_allows() -> None:
    workload = Workload(
        forward=(Operator(name="long", count=40, kernel_us=50.0),),
        backward=(Operator(name="long", count=60, kernel_us=50.0),),
    )
    result = run(
        Plan(),
        workload,
        host=Host(operator_us=5.0, latency_us=3.0, python_us=0.0, queue_length=64),
        steps=4,
        steps_before=2,
    )

    assert result.step_ns == pytest.approx(100 * 50_000, rel=1e-9)
    ahead = result.periods.device_end[0, -1] - result.periods.host_start[0, -1]
    assert 100 * 50_000 < ahead <= (100 + 65) * 50_000  # the last step began while the queue held 64 kernels


def test_with_a_processor_alone_operators_follow_each_other() -> None:
    workload = Workload(
        forward=(Operator(name="op", count=10, kernel_us=30.0),),
        backward=(Operator(name="op", count=20, kernel_us=30.0),),
        gradient_mb=1.0,
    )
    alone = run(Plan(), workload, device=Device(kind="cpu", name="CPU"))
    together = run(
        Plan(dp=4),
        workload,
        device=Device(kind="cpu", name="CPU"),
        network=Network(inside="TCP", rates={"TCP": Transport(1.0, 0.0)}),
    )

    assert alone.step_ns == pytest.approx(30 * 30_000)
    assert np.ptp(together.periods.device_end[:, -1]) == 0
