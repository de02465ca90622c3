"""Two runs, two ranks of one run, or two steps: ``compare``."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.memory.question import memory
from stepscope.compare.comparability import device, obstacles, steps_needed
from stepscope.compare.comparison import (
    ComparedSide,
    Comparison,
    ComparisonVerdict,
    Explanation,
    MemoryChange,
    PartChange,
    Reason,
    Word,
)
from stepscope.compare.credit import PARTS
from stepscope.compare.explanation import explained
from stepscope.compare.finding_changes import finding_changes
from stepscope.compare.group_changes import communication_changes, group_changes
from stepscope.compare.matching import matched
from stepscope.compare.operator_changes import operator_changes, row_sums
from stepscope.compare.overall_changes import IDLE, overall_changes, part_means, step_pairs
from stepscope.compare.side import Side
from stepscope.diagnosis.finding import Bilingual
from stepscope.errors import NoAnswerError
from stepscope.facts.comparison import comparison_facts
from stepscope.texts.numbers import duration, percent

_NAMED_CAUSES = 2


def compare(first: Side, second: Side) -> Comparison:
    """What changed from the first side to the second, and whether it is more than noise."""
    means = part_means(first), part_means(second)
    matching = matched(first, second)
    operators = operator_changes(first, second, matching, row_sums(first, second, matching, means))
    overall = overall_changes(first, second, *means)
    explanations = explained(operators, overall)
    sides = [_described(side) for side in (first, second)]
    kernels, categories, modules = (group_changes(first, second, by) for by in ("kernel", "category", "module"))
    most = comparison_facts().most_rows
    return Comparison(
        verdict=_verdict(first, second, overall, explanations, obstacles(first, second, operators)),
        a=sides[0],
        b=sides[1],
        overall=overall,
        explained=explanations,
        steps=step_pairs(first, second)[:most],
        operators=operators[:most],
        kernels=kernels[:most],
        categories=categories,
        modules=modules[:most],
        communication=communication_changes(first, second),
        memory=_memory(*sides),
        findings=finding_changes(first, second),
        rows_left_out=sum(max(0, len(rows) - most) for rows in (operators, kernels, modules)),
    )


def _described(side: Side) -> ComparedSide:
    manifest = side.store.manifest
    kinds = (
        side.store.scan("ranks")
        .filter(pl.col("rank").is_in(side.chosen_ranks))
        .select(pl.col("device_kind").cast(pl.String))
    )
    period = side.counted["period_us"]
    return ComparedSide(
        name=side.name,
        path=manifest.capture,
        window=manifest.window,
        ranks=side.chosen_ranks,
        steps=side.samples,
        device_kind=next(iter(kinds.collect().to_series().drop_nulls()), None),
        device_name=device(side),
        period_us=part_means(side)["period"] / 1000,
        period_median_us=float(period.median() or 0),  # type: ignore[arg-type]
        period_p95_us=round(float(period.quantile(0.95, "linear") or 0), 3),
        peak_bytes=_peak_bytes(side),
    )


def _peak_bytes(side: Side) -> int | None:
    try:
        peaks = memory(side.store, ranks=side.chosen_ranks).data.peaks
    except NoAnswerError:
        return None
    return max((peak.peak_bytes for peak in peaks), default=None)


def _memory(first: ComparedSide, second: ComparedSide) -> MemoryChange | None:
    if first.peak_bytes is None or second.peak_bytes is None:
        return None
    delta = second.peak_bytes - first.peak_bytes
    return MemoryChange(a_peak_bytes=first.peak_bytes, b_peak_bytes=second.peak_bytes, delta_bytes=delta)


def _verdict(
    first: Side, second: Side, overall: list[PartChange], explanations: list[Explanation], reasons: list[Reason]
) -> ComparisonVerdict:
    period = overall[0]
    identical = all(part.delta_us == 0 for part in overall)
    word: Word
    if reasons and not identical:
        word = "not_comparable"
    elif not period.significant:
        word = "same"
    else:
        word = "slower" if period.delta_us > 0 else "faster"
    return ComparisonVerdict(
        word=word,
        sentence=_sentence(word, overall, explanations, reasons),
        delta_us=period.delta_us,
        delta_share=period.delta_share,
        noise_us=period.noise_us,
        floor_share=comparison_facts().floor_share,
        reasons=reasons,
        steps_needed=steps_needed(first, second),
    )


def _sentence(
    word: Word, overall: list[PartChange], explanations: list[Explanation], reasons: list[Reason]
) -> Bilingual:
    """Word, times and the main causes in one line."""
    period = overall[0]
    times = {"a": duration(period.a_us), "b": duration(period.b_us), "share": percent(abs(period.delta_share))}
    if word == "not_comparable":
        return Bilingual.of(
            "compare_verdict.not_comparable",
            reason=reasons[0].sentence,
            sign=_sign(period),
            **times,
        )
    if word == "same":
        moved = _moved_parts(overall)
        if moved:
            parts = _listed([(Bilingual.of(f"compare_part.{part.part}"), part.delta_us) for part in moved])
            return Bilingual.of("compare_verdict.same_otherwise_made", parts=parts, **times)
        return Bilingual.of("compare_verdict.same", sign=_sign(period), **times)
    named = [entry for entry in explanations if entry.name is not None and entry.delta_us * period.delta_us > 0][
        :_NAMED_CAUSES
    ]
    if not named:
        return Bilingual.of(f"compare_verdict.{word}", **times)
    causes = _listed([(entry.label, entry.delta_us) for entry in named])
    return Bilingual.of(f"compare_because.{word}", causes=causes, **times)


def _moved_parts(overall: list[PartChange]) -> list[PartChange]:
    """Parts of equal steps that differ, as of two ranks of a job of which one waits for the other; largest first."""
    floor = comparison_facts().floor_share
    parts = [
        part
        for part in overall[1:]
        if part.part in (*PARTS, IDLE) and part.significant and abs(part.delta_share) >= floor
    ]
    return sorted(parts, key=lambda part: -abs(part.delta_us))[:_NAMED_CAUSES]


def _listed(changes: list[tuple[Bilingual, float]]) -> Bilingual:
    return Bilingual(
        *(
            separator.join(f"{getattr(label, lang)} {_signed(delta)}" for label, delta in changes)
            for lang, separator in (("en", ", "), ("zh", "，"))
        )
    )


def _sign(period: PartChange) -> str:
    """Of the share as it is written: what rounds to nothing has none."""
    if percent(abs(period.delta_share)) == percent(0.0):
        return ""
    return "+" if period.delta_us > 0 else "−"


def _signed(time_us: float) -> str:
    return f"{'+' if time_us >= 0 else '−'}{duration(abs(time_us))}"
