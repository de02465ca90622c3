"""``cpu_fallback``: an operator in mid-step runs on a processor, of the NPU or of the host, while the device waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.foundation.work import work_of
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.kernels import leading_operator, line_of, longest_kernels
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.facts.compute_roles import compute_roles_facts
from stepscope.facts.findings import finding_facts
from stepscope.facts.operators import operators_facts
from stepscope.store.run_store import RunStore


def judge(run: RunContext) -> list[Finding]:
    """Ranks that lose a part of the step to such operators."""
    losses = []
    for rank in run.computing:
        losses += [loss for loss in (_on_the_npu(run, rank), _on_the_host(run, rank)) if loss is not None]
    return findings_of(run, "cpu_fallback", losses, Next(("operators --by operator", "launches"), "operators"))


def _on_the_npu(run: RunContext, rank: int) -> Loss | None:
    computing = run.computing[rank]
    slow = pl.col("core").cast(pl.String).str.contains(compute_roles_facts().roles.slow_core).fill_null(value=False)
    groups = computing.groups.filter(slow)
    time_us = float(groups["us"].sum())
    share = computing.share(time_us)
    if not worth_telling(share):
        return None
    operator = leading_operator(groups)
    return Loss(
        rank=rank,
        cause="ai_cpu",
        title="finding_title.cpu_fallback_npu",
        advice="finding_advice.cpu_fallback_npu",
        gain_us=time_us,
        gain_share=share,
        gain_method="kernels_removed",
        where=Where(operator=operator, site=line_of(run.store, rank, groups)),
        words={"operator": operator or "?"},
        confidence="confirmed",
        evidence=[
            number("fallback_share", share, "share", link="operators"),
            number("fallback_operators", float(groups["count"].sum()), "operators", link="operators"),
        ],
        proof=longest_kernels(rank, groups),
    )


@dataclass(frozen=True)
class _HostWork:
    """Operators that compute on the host: rows of slice, name, start, end, and how much of each the device was idle."""

    rows: pl.DataFrame

    @property
    def idle_ns(self) -> int:
        return int(self.rows["idle_ns"].sum())


def _on_the_host(run: RunContext, rank: int) -> Loss | None:
    time = run.times[rank]
    if not run.computing[rank].on_device:
        return None
    work = _host_work(run.store, time)
    gain = work.idle_ns / 1000 / len(time.steps)
    if not worth_telling(time.share(gain)):
        return None
    longest = work.rows.sort("idle_ns", descending=True)
    totals = work.rows.group_by("name").agg(pl.col("idle_ns").sum()).sort("idle_ns", descending=True)
    operator = str(totals["name"][0])
    named = longest.filter(pl.col("name") == operator).select("slice")
    return Loss(
        rank=rank,
        cause="host",
        title="finding_title.cpu_fallback_host",
        advice="finding_advice.cpu_fallback_host",
        gain_us=gain,
        gain_share=time.share(gain),
        gain_method="host_work_removed",
        where=Where(operator=operator, site=line_of(run.store, rank, named)),
        words={"operator": operator},
        evidence=[
            number("fallback_share", time.share(gain), "share", link="timeline"),
            number("fallback_operators", len(work.rows) / len(time.steps), "operators", link="timeline"),
        ],
        steps=sorted(set(work.rows["step"])),
        proof=[
            Proof(rank=rank, page="timeline", slices=[number_], start_ns=start, end_ns=end)
            for number_, start, end in longest.head(finding_facts().lists.most_proofs)
            .select("slice", "start_ns", "end_ns")
            .iter_rows()
        ],
    )


def _host_work(store: RunStore, time: RankTime) -> _HostWork:
    """Operators that take long, launch nothing and wait for nothing, behind a copy from the device in their step."""
    least_ns = int(finding_facts().cpu_fallback.least_operator_us * 1000)
    slices = store.scan("slices", [time.rank]).filter(pl.col("step").is_in(time.steps))
    wanted = (pl.col("kind") == "operator") & (pl.col("dur_ns") >= least_ns)
    not_loading = pl.col("phase").cast(pl.String).fill_null("") != "data"
    rows = (
        slices.filter(wanted & not_loading)
        .select(
            "slice",
            "track",
            "step",
            "start_ns",
            name=pl.col("name").cast(pl.String),
            end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        )
        .collect()
    )
    if rows.is_empty():
        return _HostWork(rows.with_columns(idle_ns=pl.lit(0, pl.Int64)))
    rows = _behind_copies(rows, slices)
    rows = rows.filter(pl.Series(_without_calls(rows, slices), dtype=pl.Boolean))
    busy = _busy(store, time.rank)
    # Of nested operators only the outermost counts.
    rows = rows.sort("start_ns", "end_ns", descending=[False, True])
    outer_end = pl.col("end_ns").cum_max().shift().over("track").fill_null(0)
    rows = rows.filter(pl.col("start_ns") >= outer_end)
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    idle = (end - start) - busy.covered_within(start, end)
    return _HostWork(rows.with_columns(idle_ns=pl.Series(idle)).filter(pl.col("idle_ns") > 0))


def _behind_copies(rows: pl.DataFrame, slices: pl.LazyFrame) -> pl.DataFrame:
    pattern = next(entry.pattern for entry in operators_facts().copies if entry.kind == "device_to_host")
    named = pl.col("name").cast(pl.String).str.contains(pattern)
    copies = slices.filter((pl.col("kind") == "copy") & named).group_by("step").agg(copied_ns=pl.col("start_ns").min())
    return rows.join(copies.collect(), on="step").filter(pl.col("start_ns") > pl.col("copied_ns")).drop("copied_ns")


def _without_calls(rows: pl.DataFrame, slices: pl.LazyFrame) -> list[bool]:
    """Whether no call of the runtime lies in each operator: what launches or waits is no work of the host's own."""
    calls = slices.filter(pl.col("kind") == "runtime").select("track", "start_ns").collect()
    starts = {track: np.sort(part["start_ns"].to_numpy()) for (track,), part in calls.group_by("track")}
    none = np.empty(0, np.int64)
    free = []
    for track, start, end in rows.select("track", "start_ns", "end_ns").iter_rows():
        own = starts.get(track, none)
        free.append(bool(np.searchsorted(own, start) == np.searchsorted(own, end)))
    return free


def _busy(store: RunStore, rank: int) -> Intervals:
    work = work_of(store, rank)
    return union(work.start, work.end)


RULE = Rule(kinds=("cpu_fallback",), needs=("single_kernels",), judge=judge)
