"""One estimate for the clocks of a run: how far each is off, how sure that is, and what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import Bools, Float64s, Int64s
from stepscope.facts.clocks import clocks_facts
from stepscope.store.clocks.anchors import LARGE, MEDIUM, SMALL
from stepscope.store.clocks.offsets import Ends, Fit, fit

# The standard error of a median, from the median absolute deviation of normal noise.
_ERROR_OF_MEDIAN: Final = 1.25 * 1.4826


@dataclass(frozen=True)
class Alignment:
    """By clock; clock 0 is the reference. ``offset_ns`` is what a clock shows beyond it at ``middle_ns``."""

    middle_ns: int
    offset_ns: Float64s
    drift_ns_per_s: Float64s
    error_ns: Float64s
    calls: Int64s
    connected: Bools  # with the reference by calls, directly or over others
    contradicted: Float64s  # share of its calls that somebody left before the last one came
    ranks: pl.DataFrame  # rank, off_ns: what a rank shows beyond its clock

    def shown_beyond_reference(self, clock: Int64s, time_ns: Int64s) -> Int64s:
        """How far each clock is ahead at a moment, which is given as it shows it."""
        seconds = (time_ns - self.middle_ns) / 1e9
        return np.rint(self.offset_ns[clock] + self.drift_ns_per_s[clock] * seconds).astype(np.int64)


def align(anchors: pl.DataFrame, clocks: int) -> Alignment:
    """Estimate from ``anchors``, whose ``domain`` is the number of the clock."""
    calls = anchors.with_columns(
        at=pl.col("end_ns").min().over("call"), call=pl.col("call").rank("dense").cast(pl.Int64) - 1
    )
    first, last = (int(calls.select(moment).item()) for moment in (pl.min("at"), pl.max("at")))
    middle, window_s = (first + last) // 2, (last - first) / 1e9
    rows = (
        calls.group_by("call", "domain")
        .agg(pl.col("at", "size", "kind").first(), end=(pl.col("end_ns") - pl.col("at")).median())
        .sort("call", "domain")
        .with_columns(clock=pl.col("domain").cast(pl.Int64), since_middle_s=(pl.col("at") - middle) / 1e9)
    )
    fitted = _fit(rows, clocks, window_s)
    error, counted = _errors(rows, fitted, window_s)
    estimate = Alignment(
        middle_ns=middle,
        offset_ns=fitted.offset_ns,
        drift_ns_per_s=fitted.drift_ns_per_s,
        error_ns=error,
        calls=counted,
        connected=_connected(rows, clocks),
        contradicted=np.zeros(clocks),
        ranks=_beyond_their_clock(calls, rows, fitted),
    )
    return replace(estimate, contradicted=_contradictions(calls, estimate))


def _fit(rows: pl.DataFrame, clocks: int, window_s: float) -> Fit:
    """Once roughly, then with what the residuals say of each kind of call; with drift where that counts."""
    facts = clocks_facts()

    def fitted(weight: Float64s, drift: bool) -> Fit:
        call, clock, end = rows["call"].to_numpy(), rows["clock"].to_numpy(), rows["end"].to_numpy()
        return fit(Ends(call, clock, end, rows["since_middle_s"].to_numpy(), weight, clocks), drift=drift)

    rough = fitted(np.ones(len(rows)), False)
    weight = _weights(rows, rough.residual_ns)
    drifting = fitted(weight, True) if window_s > 0 else rough
    if (np.abs(drifting.drift_ns_per_s) > facts.most_drift_ppm * 1000).any():  # no clock drifts so fast
        return fitted(weight, False)
    if window_s >= facts.drift_window_s:
        return drifting
    moved = np.abs(drifting.drift_ns_per_s) * window_s
    certain = moved > facts.drift_errors * _drift_errors(rows, drifting) * window_s
    return drifting if bool((certain & (moved > facts.drift_us * 1000)).any()) else fitted(weight, False)


def _weights(rows: pl.DataFrame, residual: Float64s) -> Float64s:
    """Calls of a kind and size count the more the closer their ends lie together."""
    distance = rows.with_columns(distance=np.abs(residual)).select(pl.col("distance").median().over("kind", "size"))
    floor = float(clocks_facts().floor_small_us * 1000)
    weight: Float64s = 1 / np.maximum(distance["distance"].to_numpy(), floor)
    return weight


def _errors(rows: pl.DataFrame, fitted: Fit, window_s: float) -> tuple[Float64s, Int64s]:
    """Error of each clock against the reference, and how many calls it rests on."""
    facts = clocks_facts()
    floors = {SMALL: facts.floor_small_us, MEDIUM: facts.floor_medium_us, LARGE: facts.floor_large_us}
    clocks, clock = len(fitted.offset_ns), rows["clock"].to_numpy()
    weight = _weights(rows, fitted.residual_ns)
    floor = 1000 * rows["size"].replace_strict(floors, return_dtype=pl.Float64).to_numpy()
    calls = np.bincount(clock, minlength=clocks)
    own = _ERROR_OF_MEDIAN * _deviations(rows, fitted) / np.sqrt(np.maximum(calls, 1))
    if fitted.drift_ns_per_s.any():
        own = own + _drift_errors(rows, fitted) * window_s / 2
    total = np.maximum(np.bincount(clock, weight, clocks), 1e-300)
    error: Float64s = np.hypot(own, own[0]) + np.bincount(clock, weight * floor, clocks) / total
    return error, calls.astype(np.int64)


def _deviations(rows: pl.DataFrame, fitted: Fit) -> Float64s:
    """Median absolute deviation of the residuals of each clock."""
    residual = pl.col("residual")
    each = rows.with_columns(residual=fitted.residual_ns).group_by("clock").agg((residual - residual.median()).abs())
    deviation = np.zeros(len(fitted.offset_ns))
    deviation[each["clock"].to_numpy()] = each["residual"].list.median().to_numpy()
    return deviation


def _drift_errors(rows: pl.DataFrame, fitted: Fit) -> Float64s:
    """Standard error of the drift of each clock, in ns per second."""
    clock, seconds, clocks = rows["clock"].to_numpy(), rows["since_middle_s"].to_numpy(), len(fitted.offset_ns)
    calls = np.maximum(np.bincount(clock, minlength=clocks), 1)
    mean = np.bincount(clock, seconds, clocks) / calls
    across = np.bincount(clock, (seconds - mean[clock]) ** 2, clocks)
    return np.asarray(_ERROR_OF_MEDIAN * _deviations(rows, fitted) / np.sqrt(np.maximum(across, 1e-12)), np.float64)


def _connected(rows: pl.DataFrame, clocks: int) -> Bools:
    reached = np.zeros(clocks, bool)
    reached[0] = True
    call, clock = rows["call"].to_numpy(), rows["clock"].to_numpy()
    while True:
        calls = np.zeros(int(call.max(initial=-1)) + 1, bool)
        calls[call[reached[clock]]] = True
        more = reached.copy()
        more[clock[calls[call]]] = True
        if (more == reached).all():
            return reached
        reached = more


def _beyond_their_clock(calls: pl.DataFrame, rows: pl.DataFrame, fitted: Fit) -> pl.DataFrame:
    expected = rows.select("call", "domain", expected=pl.col("end") - pl.Series(fitted.residual_ns))
    off = (pl.col("end_ns") - pl.col("at") - pl.col("expected")).median()
    return calls.join(expected, on=["call", "domain"]).group_by("rank").agg(off_ns=off).sort("rank")


def _contradictions(calls: pl.DataFrame, estimate: Alignment) -> Float64s:
    """No member can have the result of a call before the last one has come."""
    late = estimate.shown_beyond_reference(calls["domain"].to_numpy(), calls["end_ns"].to_numpy())
    each = (
        calls.select("call", "domain", start=pl.col("start_ns") - late, end=pl.col("end_ns") - late)
        .group_by("call")
        .agg(
            leaves=pl.col("domain").sort_by("end").first(),
            comes=pl.col("domain").sort_by("start").last(),
            early_ns=pl.max("start") - pl.min("end"),
        )
    )
    leaves, comes = each["leaves"].to_numpy(), each["comes"].to_numpy()
    wrong = each["early_ns"].to_numpy() > estimate.error_ns[leaves] + estimate.error_ns[comes]
    both = np.concatenate([leaves[wrong], comes[wrong & (leaves != comes)]])
    share: Float64s = np.bincount(both, minlength=len(estimate.calls)) / np.maximum(estimate.calls, 1)
    return share
