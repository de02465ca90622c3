"""In NDTimeline's schema, the published what-if method finds the model's own slowdown.

The replay here is written from the method's description alone (durations, dependencies, groups), not from the model.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from stepscope.simulate.calibration import planted_faults
from stepscope.simulate.look_alikes import EqualSlowdown
from stepscope.simulate.model import build
from stepscope.simulate.scenario import FaultEntry, Plan, Scenario, Workload
from stepscope.simulate.writing import simulate
from support.scenarios import small

Durations = dict[tuple[Any, ...], float]


class Replay:
    """One step: start = latest end of what it depends on; a group begins with its last member."""

    def __init__(self, step: pl.DataFrame, stages: int, replicas: int) -> None:
        self.stages, self.replicas = stages, replicas
        self.order: dict[tuple[int, int], list[tuple[str, int]]] = {}
        self.compute: Durations = {}
        self.transfer: Durations = {}
        self.group: Durations = {}
        self._read(step)

    def _read(self, step: pl.DataFrame) -> None:
        starts: dict[tuple[Any, ...], float] = {}
        ends: dict[tuple[Any, ...], float] = {}
        for row in step.sort("start_ts").iter_rows(named=True):
            dp, stage, kind = row["dp_rank"], row["stage"], row["optype"]
            if kind.endswith("-compute"):
                direction = kind.split("-")[0]
                self.order.setdefault((dp, stage), []).append((direction, row["mb_id"]))
                self.compute[direction, dp, stage, row["mb_id"]] = row["duration"]
            else:
                key = (kind, dp, stage, row["seq_id"])
                starts[key], ends[key] = row["start_ts"], row["start_ts"] + row["duration"]
        for (kind, dp, stage, number), end in ends.items():
            if kind.endswith("-recv"):
                direction = kind.split("-")[0]
                sender = stage - 1 if direction == "forward" else stage + 1
                begin = max(starts[kind, dp, stage, number], starts[f"{direction}-send", dp, sender, number])
                self.transfer[direction, dp, stage, number] = max(end - begin, 0.0)
            elif kind in ("grads-reduce-scatter", "optimizer-clip-main-grad"):
                members = [
                    starts[kind, other, place, 0]
                    for other in range(self.replicas)
                    for place in (range(self.stages) if "clip" in kind else [stage])
                ]
                self.group[kind, dp, stage] = max(end - max(members), 0.0)
            elif kind == "optimizer":
                self.group[kind, dp, stage] = end - starts[kind, dp, stage, number]

    def length(self, compute: Durations, transfer: Durations, group: Durations) -> float:
        """The step with these durations."""

        @cache
        def done(dp: int, stage: int, place: int) -> float:
            """When a stage has finished its first ``place`` passes."""
            if not place:
                return 0.0
            direction, number = self.order[dp, stage][place - 1]
            before = done(dp, stage, place - 1)
            source = stage - 1 if direction == "forward" else stage + 1
            if 0 <= source < self.stages:
                there = self.order[dp, source].index((direction, number)) + 1
                before = max(before, done(dp, source, there)) + transfer[direction, dp, stage, number]
            return before + compute[direction, dp, stage, number]

        ranks = [(dp, stage) for dp in range(self.replicas) for stage in range(self.stages)]
        end = {rank: done(*rank, len(self.order[rank])) for rank in ranks}
        for kind, whole in (("grads-reduce-scatter", False), ("optimizer-clip-main-grad", True)):
            begin = {rank: max(end[other] for other in ranks if whole or other[1] == rank[1]) for rank in ranks}
            end = {rank: begin[rank] + group[(kind, *rank)] for rank in ranks}
        return max(end[rank] + group[("optimizer", *rank)] for rank in ranks)


def slowdown(trace: pl.DataFrame, stages: int, replicas: int) -> tuple[float, float]:
    """S, and T: with all durations as measured; ideal is the mean of each compute kind, the median of transfers."""
    steps = [Replay(part, stages, replicas) for (_,), part in trace.group_by(["step"], maintain_order=True)]

    def typical(durations: list[Durations], by: Any) -> dict[Any, float]:
        pooled: dict[Any, list[float]] = {}
        for each in durations:
            for key, value in each.items():
                pooled.setdefault(key[0], []).append(value)
        return {kind: float(by(values)) for kind, values in pooled.items()}

    compute = typical([step.compute for step in steps], np.mean)
    transfer = typical([step.transfer for step in steps], np.median)
    group = typical([step.group for step in steps], np.median)
    measured = [step.length(step.compute, step.transfer, step.group) for step in steps]
    ideal = [
        step.length(
            {key: compute[key[0]] for key in step.compute},
            {key: transfer[key[0]] for key in step.transfer},
            {key: group[key[0]] for key in step.group},
        )
        for step in steps
    ]
    return float(np.mean(measured) / np.mean(ideal)), float(np.mean(measured))


def pipeline(**changes: Any) -> Scenario:
    work = Workload(layers=4, hidden=2048, sequence=1024, batch=2, vocabulary=64, overlap=False, buckets=1)
    return small(plan=Plan(dp=4, pp=4, micro_batches=8), workload=work, clocks="same", steps=3, **changes)


@pytest.mark.parametrize("noise", ["none", "quiet"])
@pytest.mark.parametrize("strength", [0.1, 0.3])
def test_the_published_method_gives_the_models_own_slowdown(noise: str, strength: float, tmp_path: Path) -> None:
    """Ideal, for the method, is that everybody computes as long as all do on average: so in the model, too."""
    entry = FaultEntry(kind="slow_rank", cause="compute", ranks=(0,), strength=strength)
    scenario = pipeline(noise=noise, faults=(entry,))
    done = simulate(scenario, tmp_path / "out", form="ndtimeline")
    trace = pl.read_parquet(tmp_path / "out" / "trace.parquet")
    assert trace["rank"].n_unique() == 16

    found, replayed_s = slowdown(trace, stages=4, replicas=4)
    (fault,) = planted_faults(scenario)[0]
    even = EqualSlowdown(FaultEntry(kind="equal_slowdown"), fault.amount / 16, fault.step_ns)
    healthy = build(msgspec.structs.replace(scenario, faults=()), [even]).run().step_ns / 1000
    assert replayed_s * 1e6 == pytest.approx(done.truth["step_us"], rel=0.02)
    assert found == pytest.approx(done.truth["step_us"] / healthy, rel=0.01)


def test_the_columns_are_those_of_the_published_traces(tmp_path: Path, shared_data: Path) -> None:
    simulate(pipeline(), tmp_path / "out", form="ndtimeline")
    ours = pl.read_parquet(tmp_path / "out" / "trace.parquet")
    theirs = pl.read_parquet(shared_data / "cluster" / "ndtimeline" / "trace-ST.parquet")

    assert ours.columns == theirs.columns
    assert set(ours["optype"]) <= {*theirs["optype"].cast(pl.String)}
    keys = {line.partition(":")[0] for line in (tmp_path / "out" / "meta.yaml").read_text("utf-8").splitlines()}
    assert "world_size" in keys


@pytest.mark.parametrize(("name", "replicas", "expected"), [("AR", 4, 1.9730), ("ST", 2, 1.1787)])
def test_the_replay_is_the_published_one(name: str, replicas: int, expected: float, shared_data: Path) -> None:
    """On the authors' own traces it gives their slowdown."""
    trace = pl.read_parquet(shared_data / "cluster" / "ndtimeline" / f"trace-{name}.parquet")
    found, _ = slowdown(trace.with_columns(pl.col("optype").cast(pl.String)), stages=4, replicas=replicas)

    assert found == pytest.approx(expected, rel=0.01)
