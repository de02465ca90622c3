"""A model with the parameters of a real recording: how many operators, how long, what host and links need."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.facts.simulation import Transport
from stepscope.run import Run
from stepscope.simulate.model import Model, build
from stepscope.simulate.scenario import Device, Host, Input, Network, Operator, Plan, Scenario, Workload

_PHASES = ("forward", "backward", "optimizer")
_HOST_KINDS = ["operator", "runtime", "collective"]


def fitted(run: Run, name: str) -> Model:
    """The job of a recording as the model sees it: means, and how much each rank computed in each step."""
    scenario = fitted_scenario(run, name)
    model = build(scenario)
    work = _work(run, run.table("slices").filter(pl.col("step").is_not_null()).collect(), scenario.device.kind == "gpu")
    per_step = work.group_by("rank", "step").agg(pl.col("dur_ns").sum()).sort("rank", "step")
    busy = per_step["dur_ns"].to_numpy().reshape(len(run.ranks), -1)
    model.machine.conditions.compute[:, scenario.steps_before :] = busy / busy.mean()
    return model


def fitted_scenario(run: Run, name: str) -> Scenario:
    """Means over ranks and steps."""
    about = run.table("ranks").collect()
    on_gpu = about["device_kind"][0] == "gpu"
    slices = run.table("slices").filter(pl.col("step").is_not_null()).collect()
    steps = run.steps().height  # of all ranks
    work = _work(run, slices, on_gpu)
    launches = {phase: work.filter(pl.col("phase") == phase) for phase in _PHASES}
    busy_us, covered_us = (_on_host_us(run, slices, kinds) / steps for kinds in (_HOST_KINDS[:2], _HOST_KINDS))
    count = sum(part.height for part in launches.values()) / steps
    duration_us = float(run.steps()["duration_us"].mean())  # type: ignore[arg-type]
    operators = {
        phase: (
            Operator(name=phase, count=round(part.height / steps), kernel_us=float(part["dur_ns"].mean()) / 1000),  # type: ignore[arg-type]
        )
        for phase, part in launches.items()
        if part.height >= steps
    }
    calls, transfer_us = _collectives(run)
    ranks = len(run.ranks)
    size_mb = 1.0 * max(calls, 1)
    share = 2 * (ranks - 1) / ranks
    rate = share * 1_000_000 / (transfer_us * 1000) if transfer_us else 1.0
    return Scenario(
        name=name,
        noise="none",
        steps=run.steps()["step"].n_unique(),
        steps_before=1,
        clocks="same",
        plan=Plan(dp=ranks),
        device=Device(kind="gpu" if on_gpu else "cpu", name="fitted"),
        host=Host(
            ranks=ranks,
            operator_us=busy_us / count if on_gpu else 0.0,
            latency_us=3.0 if on_gpu else 0.0,
            python_us=max(duration_us - covered_us, 0.0),
        ),
        network=Network(inside="TCP", rates={"TCP": Transport(gb_per_s=rate, latency_us=0.0)}),
        workload=Workload(
            forward=operators.get("forward", ()),
            backward=operators.get("backward", ()),
            optimizer=operators.get("optimizer", ()),
            gradient_mb=size_mb,
            buckets=max(calls, 1),
            dtype="fp32",
        ),
        input=Input(mode="none"),
    )


def _work(run: Run, slices: pl.DataFrame, on_gpu: bool) -> pl.DataFrame:
    """What ran on the device; without one, operators that no other operator holds, with all that lies in them."""
    if on_gpu:
        return slices.filter(pl.col("kind").is_in(["kernel", "copy"]) & pl.col("phase").is_not_null())
    operators = slices.filter(pl.col("kind") == "operator")
    inside = operators.join(
        operators.select("rank", "slice"), left_on=["rank", "parent"], right_on=["rank", "slice"], how="semi"
    )
    return operators.join(inside.select("rank", "slice"), on=["rank", "slice"], how="anti")


def _on_host_us(run: Run, slices: pl.DataFrame, kinds: list[str]) -> float:
    """How long, over all ranks and steps, the host was in slices of some kinds."""
    tracks = run.table("tracks").filter(pl.col("kind").cast(pl.String) == "host").select("rank", "track").collect()
    own = slices.filter(pl.col("kind").is_in(kinds)).join(tracks, on=["rank", "track"], how="semi")
    total = 0
    for _, part in own.group_by("rank"):
        rows = part.sort("start_ns")
        start = rows["start_ns"].to_numpy()
        end = np.maximum.accumulate(start + rows["dur_ns"].to_numpy())
        total += int((end[1:] - np.maximum(start[1:], end[:-1])).clip(0).sum() + end[0] - start[0])
    return total / 1000


def _collectives(run: Run) -> tuple[int, float]:
    """Calls of a step, and how long one takes once all ranks have arrived."""
    calls = run.table("collectives").drop_nulls("step").select("rank", "step", "start_ns", "end_ns").collect()
    if calls.is_empty():
        return 0, 0.0
    calls = calls.sort("rank", "start_ns").with_columns(number=pl.int_range(pl.len()).over("rank", "step"))
    met = calls.group_by("step", "number").agg(pl.col("start_ns").max(), pl.col("end_ns").median(), ranks=pl.len())
    met = met.filter(pl.col("ranks") == len(run.ranks)).sort("step", "number")
    # One call after the other: while an earlier one still runs, a later one waits for it.
    before = pl.col("end_ns").cum_max().shift(1).over("step").fill_null(0)
    length = met.select((pl.col("end_ns") - pl.max_horizontal("start_ns", before)).clip(0)).to_series()
    per_step = met.height / met["step"].n_unique()
    return round(per_step), float(length.mean()) / 1000  # type: ignore[arg-type]
