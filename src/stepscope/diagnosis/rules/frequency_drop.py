"""``frequency_drop``: a device runs at a lower clock than it could, or than its peers do."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.measures.recorded import frequency_tracks
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts


@dataclass(frozen=True)
class _Clock:
    """Mean and highest frequency of one rank, in MHz, and the moment of its lowest."""

    mean: float
    highest: float
    lowest_at_ns: int


def judge(run: RunContext) -> list[Finding]:
    """Ranks whose mean frequency is below the highest that any rank of the run reached."""
    clocks = _clocks(run)
    highest = max((clock.highest for clock in clocks.values()), default=0.0)
    least = finding_facts().frequency_drop.least_drop_share
    waited = {rank: member.gain_us for member in run.slow_members for rank in member.ranks if member.cause == "compute"}
    losses = []
    for rank, clock in clocks.items():
        drop = 1 - clock.mean / highest if highest else 0.0
        time = run.times.get(rank)
        if time is None or drop < least:
            continue
        # Others wait for a slow rank only until the next slowest is done.
        gain = min(time.computing_us * drop, waited.get(rank, time.computing_us))
        losses.append(
            Loss(
                rank=rank,
                cause="clock",
                title="finding_title.frequency_drop",
                advice="finding_advice.frequency_drop",
                gain_us=gain,
                gain_share=time.share(gain),
                gain_method="usual_clock",
                words={"mhz": f"{clock.mean:,.0f}", "usual": f"{highest:,.0f}"},
                confidence="confirmed",
                evidence=[
                    number("clock_mhz", clock.mean, "mhz", highest, "timeline"),
                    number("computing_share", time.share(time.computing_us), "share", link="steps"),
                ],
                proof=[Proof(rank=rank, page="timeline", start_ns=clock.lowest_at_ns, end_ns=clock.lowest_at_ns)],
            )
        )
    return findings_of(run, "frequency_drop", losses, Next(("summary", "operators"), "summary"))


def _clocks(run: RunContext) -> dict[int, _Clock]:
    """While kernels of counted steps ran: what the clock is while nothing computes says nothing."""
    clocks = {}
    for rank, track in frequency_tracks(run.store).items():
        if rank not in run.times:
            continue
        samples = run.store.scan("counters", [rank]).filter((pl.col("track") == track) & (pl.col("value") > 0))
        kernels = run.store.scan("slices", [rank]).filter(
            (pl.col("kind") == "kernel") & pl.col("step").is_in(run.times[rank].steps)
        )
        known = kernels.select("start_ns", "dur_ns").sort("start_ns")
        at_kernels = known.join_asof(
            samples.select("time_ns", "value").sort("time_ns"), left_on="start_ns", right_on="time_ns"
        )
        rows = at_kernels.drop_nulls("value").collect()
        total = int(rows["dur_ns"].sum())
        if total:
            mean = float((rows["value"] * rows["dur_ns"]).sum()) / total
            slowest = rows.sort("value").row(0, named=True)
            clocks[rank] = _Clock(mean, float(rows["value"].sort()[-1]), slowest["start_ns"])
    return clocks


RULE = Rule(kinds=("frequency_drop",), needs=("frequency",), judge=judge)
