"""The training loop as seen from its data: how long a step takes, how long it waits, which steps starve."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from stepscope.analysis.foundation.work import Work
from stepscope.analysis.pipeline.entries import batch_entries, device_fills, step_entries
from stepscope.analysis.pipeline.observed import Observed
from stepscope.analysis.pipeline.structure import Starving
from stepscope.facts.pipeline import pipeline_facts


@dataclass(frozen=True)
class Loop:
    """Means per counted step, how queues were found in the settled part of the run, and which steps starve.

    None is what nobody recorded.
    """

    period_us: float | None
    wait_us: float | None
    interval_us: float | None
    interval_share: float | None
    gap_us: float | None  # the interval between two steps: the first may begin with work from before the window
    copy_us: float | None
    getnext_us: float | None
    get_us: float | None  # of the thread that takes batches from the pipeline
    push_us: float | None
    late_share: float | None  # steps that waited noticeably
    late_empty_share: float | None  # of those, the ones that found the queue empty
    host_empty_share: float | None
    device_empty_share: float | None
    early_host_empty_share: float | None
    settled: int
    starving: Starving

    @property
    def wait_share(self) -> float | None:
        return _share(self.wait_us, self.period_us)

    @property
    def between_us(self) -> float:
        """What of the gap between two steps is neither waiting for data nor bringing it to the device."""
        known = (self.wait_us or 0.0) + (self.copy_us or 0.0) + (self.getnext_us or 0.0)
        return max((self.gap_us or 0.0) - known, 0.0)

    @property
    def interval_long(self) -> bool | None:
        """Whether the gap between steps is notable; None if unknown."""
        share = _share(self.gap_us, self.period_us)
        if self.gap_us is None or share is None:
            return None
        limits = pipeline_facts().loop
        return bool(self.gap_us > limits.least_interval_us and share > limits.least_wait_share)


def loop_of(seen: Observed, work: Work | None) -> Loop:
    """The loop of one rank."""
    steps, batches = step_entries(seen, work), batch_entries(seen)
    entries, unit = _entries(seen, steps, batches)
    queued = seen.mode == "sink" or any(column.count() for column in (steps["fill"], seen.batches["queue"]))
    half, batch_half = (settled(rows, queued=queued) for rows in (entries, seen.batches))
    counted, counted_steps, counted_batches = (_counted(rows) for rows in (entries, steps, batches))
    periods = (_mean(rows["period_us"]) for rows in (counted, counted_steps, counted_batches))
    period = next((mean for mean in periods if mean), None)
    waiting = half.filter(pl.col("wait_us") > _noticeable(period))
    waits_known = counted["wait_us"].null_count() < len(counted)
    interval = _mean(counted_steps["interval_us"])
    return Loop(
        period_us=period,
        wait_us=_mean(counted["wait_us"]) if waits_known else _mean(counted_steps["wait_us"]),
        interval_us=interval,
        interval_share=_share(interval, _mean(counted_steps["period_us"])),
        gap_us=_mean(counted_steps["gap_us"]),
        copy_us=_mean(counted_steps["copy_us"]),
        getnext_us=_mean(counted_steps["getnext_us"]),
        get_us=_mean(batch_half["get_us"]),
        push_us=_mean(batch_half["push_us"]),
        late_share=len(waiting) / len(half) if waits_known else None,
        late_empty_share=_empty_share(waiting["fill"]),
        host_empty_share=_empty_share(batch_half["queue"]),
        device_empty_share=_empty_share(settled(_by_device_queue(device_fills(seen)), queued=True)["fill"]),
        early_host_empty_share=_empty_share(seen.batches.head(len(seen.batches) // 4)["queue"]),
        settled=len(half),
        starving=_starving(seen.rank, unit, entries, half, period),
    )


def settled(rows: pl.DataFrame, *, queued: bool) -> pl.DataFrame:
    """The rows without first batches and warm-up; where batches wait in a queue, the later half of them.

    A queue that filled before training hides at first that the pipeline is too slow. Without one every step counts.
    """
    limits = pipeline_facts().loop
    usual = _counted(rows)
    if usual.is_empty() or not queued:
        return usual
    half = usual.slice(int(len(usual) * limits.settled_from_share))
    return half if len(half) >= limits.least_settled else usual


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that count in averages; all of them if none is typical."""
    usual = rows.filter(~pl.col("first"))
    return rows if usual.is_empty() else usual


def _entries(seen: Observed, steps: pl.DataFrame, batches: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The rows that tell most about waiting: steps, else looks at the device's queue, else batches."""
    usual = steps.filter(~pl.col("first"))
    if seen.mode == "sink":
        if usual["fill"].null_count() < len(usual):
            return steps, "step"
        return _by_device_queue(device_fills(seen)), "batch"
    told = any(usual[name].null_count() < len(usual) for name in ("wait_us", "fill"))
    return (steps, "step") if told or batches.is_empty() else (batches, "batch")


def _by_device_queue(fills: pl.DataFrame) -> pl.DataFrame:
    """One row per look at the device's queue, where steps cannot be told."""
    unknown = pl.lit(None, pl.Float64)
    index = pl.int_range(pl.len())
    return fills.select(number=index + 1, first=index == 0, fill="queue", wait_us=unknown, period_us=unknown)


def _noticeable(period: float | None) -> float:
    return pipeline_facts().loop.least_wait_share * period if period else 0.0


def _starving(rank: int, unit: str, entries: pl.DataFrame, half: pl.DataFrame, period: float | None) -> Starving:
    """A step starves if it waited noticeably and the queue, where its fill is known, was empty."""
    counted = entries.filter(~pl.col("first"))
    starves = _starves(period)
    known = counted.filter(starves.is_not_null())
    starving = known.filter(starves)
    later = half.filter(starves.is_not_null())
    return Starving(
        rank=rank,
        unit="step" if unit == "step" else "batch",
        counted=len(known),
        count=len(starving),
        share=len(starving) / len(known) if len(known) else None,
        settled_share=len(later.filter(starves)) / len(later) if len(later) else None,
        which=starving["number"].drop_nulls().to_list(),
    )


def _starves(period: float | None) -> pl.Expr:
    waited, empty = pl.col("wait_us") > _noticeable(period), pl.col("fill") <= 0
    return pl.when(waited.is_null()).then(empty).when(empty.is_null()).then(waited).otherwise(waited & empty)


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return float(mean) if isinstance(mean, (int, float)) else None


def _empty_share(fill: pl.Series) -> float | None:
    return _mean((fill.drop_nulls() <= 0).cast(pl.Float64))


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
