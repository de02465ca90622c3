"""The question ``flops``: per operator, per step and per rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.flops.counting import Counted, counted_calls
from stepscope.analysis.flops.peaks import Peaks, peaks_of
from stepscope.analysis.flops.rates import (
    OperatorFlops,
    Work,
    operators_of,
    tensor_core_share,
    with_computing_types,
    work_of_calls,
)
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.foundation.question import AtLeast, OneOf, question
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.units import (
    BytesPerSecond,
    FlopCount,
    FlopsPerSecond,
    Identifier,
    Microseconds,
    Share,
)
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.operators.nesting import NOWHERE
from stepscope.errors import NoAnswerError
from stepscope.facts.flops import flops_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts import LANGUAGES, text

_GIGA: Final = 1e9
_NAMED: Final = 8  # in a note


class StepFlops(msgspec.Struct, frozen=True):
    """One step of one rank."""

    rank: Identifier
    step: Identifier
    duration_us: Microseconds
    flops: FlopCount
    model_flops: FlopCount
    flops_per_s: FlopsPerSecond | None
    model_flops_per_s: FlopsPerSecond | None
    mfu_share: Share | None
    hfu_share: Share | None
    warm_up: bool


class RankFlops(msgspec.Struct, frozen=True):
    """One rank: over its steps without warm-up, or over all that was recorded where there are no steps."""

    rank: Identifier
    device: str | None
    peak_origin: str | None
    peaks_flops_per_s: dict[str, FlopsPerSecond]
    memory_bytes_per_s: BytesPerSecond | None
    duration_us: Microseconds | None
    flops: FlopCount
    model_flops: FlopCount
    flops_per_s: FlopsPerSecond | None
    model_flops_per_s: FlopsPerSecond | None
    mfu_share: Share | None
    hfu_share: Share | None
    counted_share: Share | None
    tensor_core_share: Share | None


class Flops(msgspec.Struct, frozen=True):
    """FLOPs of a run."""

    ranks: list[RankFlops]
    steps: list[StepFlops]
    operators: list[OperatorFlops]


@question()
def flops(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    by: Annotated[str, OneOf("operator", "shape")] = "operator",
    peak_tflops: Annotated[float | None, AtLeast(0)] = None,
    memory_gb_per_s: Annotated[float | None, AtLeast(0)] = None,
) -> Answer[Flops]:
    """How many, how fast, and what share of the device's peak; the peaks may be given where no table knows them."""
    answer = Flops([], [], [])
    notes: list[Note] = []
    on_host = 0
    for rank in ranks_of(store, ranks):
        counted = counted_calls(store, rank, steps)
        _note_uncounted(counted, rank, notes)
        if counted.calls.is_empty():
            continue
        peaks = peaks_of(store, rank, peak_tflops, memory_gb_per_s)
        work = work_of_calls(store, rank, counted)
        calls = work.without_host_calls(counted.calls)
        on_host += len(counted.calls) - len(calls)
        if calls.is_empty():
            continue
        _note_places(counted.calls, calls, work, rank, notes)
        calls = with_computing_types(calls, work)
        _note_peaks(calls, peaks, rank, notes)
        operators = operators_of(rank, calls, work, peaks, by)
        answer.operators.extend(operators)
        per_step = _steps(store, rank, calls, work, peaks, steps)
        answer.steps.extend(per_step)
        answer.ranks.append(_rank(rank, calls, work, peaks, per_step))
        _note_shares(answer.ranks[-1], per_step, operators, notes)
    if not answer.ranks:
        raise NoAnswerError("flops_only_on_host", count=on_host) if on_host else NoAnswerError("no_flops")
    return Answer(answer, notes)


def _steps(
    store: RunStore, rank: int, calls: pl.DataFrame, work: Work, peaks: Peaks, steps: Sequence[int] | None
) -> list[StepFlops]:
    """Rates per step, over its period."""
    rows = []
    parts: dict[int | None, list[_Sum]] = {}
    for number, *sums in _sums(calls, "step", "dtype"):
        parts.setdefault(number, []).append(_Sum(*sums))
    periods = periods_of(store, rank)
    lasting = (periods.end - periods.start).tolist()
    warm = step_marks(store, rank)["warm_up"].to_list()
    for number, warm_up, duration in zip(periods.step.tolist(), warm, lasting, strict=True):
        if steps and number not in steps:
            continue
        shares = _shares(parts.get(number, []), peaks, duration, work.devices)
        rows.append(StepFlops(rank, number, duration / 1000, *shares, warm_up=warm_up))
    return rows


class _Sum(NamedTuple):
    dtype: str | None
    flops: int
    again: int


def _sums(calls: pl.DataFrame, *keys: str) -> list[tuple[Any, ...]]:
    """Sums of FLOPs, which may exceed 64 bits."""
    return calls.group_by(keys).agg(pl.col("flops", "again").cast(pl.Int128).sum()).rows()


class _Shares(NamedTuple):
    """Rates over a time, and shares of the peak in it."""

    flops: int
    model_flops: int
    flops_per_s: float | None = None
    model_flops_per_s: float | None = None
    mfu_share: float | None = None
    hfu_share: float | None = None


def _shares(sums: Sequence[_Sum], peaks: Peaks, duration_ns: int, devices: int) -> _Shares:
    """A share is the ideal time, each element type at its peak, over the time; several devices have several peaks.

    The model's ideal time is that of its own FLOPs, each computed once; the hardware's that of all that it computes.
    """
    total, model = sum(part.flops for part in sums), sum(part.flops - part.again for part in sums)
    if duration_ns <= 0:
        return _Shares(total, model)
    seconds = duration_ns / 1e9
    shares = _Shares(total, model, total / seconds, model / seconds)
    rates = [
        (rate, unit) for part in sums if (rate := peaks.rate(part.dtype)) and (unit := peaks.unit_rate(part.dtype))
    ]
    if not sums or len(rates) < len(sums):
        return shares
    hardware = sum(part.flops / rate for part, (rate, _) in zip(sums, rates, strict=True)) / devices
    own = sum((part.flops - part.again) / unit for part, (_, unit) in zip(sums, rates, strict=True)) / devices
    return shares._replace(mfu_share=own / seconds, hfu_share=hardware / seconds)


def _rank(rank: int, calls: pl.DataFrame, work: Work, peaks: Peaks, steps: list[StepFlops]) -> RankFlops:
    typical = [step for step in steps if not step.warm_up] or steps
    slices = work.slices
    mine = calls.filter(pl.col("step").is_in([step.step for step in typical])) if typical else calls
    duration = round(sum(step.duration_us for step in typical) * 1000) if typical else _span(slices)
    total, own = int(slices["dur_ns"].sum()), int(slices.filter(pl.col("call") != NOWHERE)["dur_ns"].sum())
    return RankFlops(
        rank,
        peaks.device,
        peaks.origin,
        dict(peaks.rates),
        peaks.memory,
        duration / 1000 if duration else None,
        *_shares([_Sum(*sums) for sums in _sums(mine, "dtype")], peaks, duration, work.devices),
        own / total if total and work.on_device else None,
        tensor_core_share(slices),
    )


def _span(slices: pl.DataFrame) -> int:
    """From the first start to the last end."""
    if slices.is_empty():
        return 0
    span = slices.select((pl.col("start_ns") + pl.col("dur_ns")).max() - pl.col("start_ns").min())
    return int(span.item())


def _note_uncounted(counted: Counted, rank: int, notes: list[Note]) -> None:
    if counted.without_shapes:
        notes.append(Note("flops_without_shapes", rank=rank, count=counted.without_shapes))
    if counted.misfits:
        notes.append(Note("flops_not_told", rank=rank, count=counted.misfits))
    if counted.padded:
        notes.append(Note("flops_of_filled_channels", rank=rank, count=counted.padded))


def _note_places(counted: pl.DataFrame, calls: pl.DataFrame, work: Work, rank: int, notes: list[Note]) -> None:
    """What is known of where the calls ran."""
    if len(calls) < len(counted):
        # Without those that do no work, and repetitions: a checkpoint stops its last one before it computes.
        worth = pl.col("flops") > pl.col("again")
        dropped = counted.join(calls.select("position"), on="position", how="anti").filter(worth)
        gflop = f"{int(dropped['flops'].cast(pl.Int128).sum()) / _GIGA:,.3f}"
        if len(dropped):
            notes.append(Note("flops_on_host", params={"gflop": gflop}, count=len(dropped), rank=rank))
    elif work.on_device and not work.linked and not calls["position"].is_in(work.slices["call"].implode()).all():
        notes.append(Note("flops_without_launches", rank=rank))
    if work.linked and work.unknown_share > flops_facts().coverage.largest_unknown_share:
        notes.append(Note("flops_in_graphs_unknown", {"share": f"{work.unknown_share:.1%}"}, rank=rank))
    if work.devices > 1:
        notes.append(Note("flops_of_several_devices", count=work.devices, rank=rank))


def _note_shares(
    rank: RankFlops, steps: Sequence[StepFlops], operators: Sequence[OperatorFlops], notes: list[Note]
) -> None:
    """A share above one is never true."""
    shares = {f"rank {rank.rank}": rank.hfu_share}
    shares |= {f"step {step.step}": step.hfu_share for step in steps}
    shares |= {f"{row.name} ({row.dtype})": row.peak_share for row in operators}
    above = [name for name, share in shares.items() if share is not None and share > 1]
    if above:
        named = ", ".join(above[:_NAMED]) + (" …" if len(above) > _NAMED else "")
        notes.append(Note("flops_above_peak", params={"where": named}, count=len(above), rank=rank.rank))


def _note_peaks(calls: pl.DataFrame, peaks: Peaks, rank: int, notes: list[Note]) -> None:
    unknown = [dtype for dtype in calls["dtype"].unique() if not peaks.rate(dtype)]
    device = _in_words("device", peaks.device, "device" if peaks.device else "unnamed_device")
    if unknown:
        named = ", ".join(sorted(filter(None, unknown)))
        dtypes = {"dtypes": named} if named else _in_words("dtypes", None, "unrecorded_types")
        notes.append(Note("no_peak", rank=rank, params=device | dtypes))
    elif peaks.memory is None:
        notes.append(Note("no_memory_bandwidth", rank=rank, params=device))


def _in_words(value: str, name: str | None, key: str) -> dict[str, str]:
    """A value of a note, and how each language says it."""
    words = {f"{value}_{lang}": text(f"flops_words.{key}", lang, name=name) for lang in LANGUAGES}
    return {value: name or "?", **words}
