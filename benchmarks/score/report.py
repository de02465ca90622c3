"""The table of a score, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from score.cases import HEALTHY
from score.judging import Outcome
from score.tally import KindScore, Ratio, healthy_accused, kind_scores, overall

#: From so many ranks on a job is large.
_LARGE: Final = 100


def tables(outcomes: Sequence[Outcome]) -> str:
    """Kinds, healthy runs, sizes, and every miss."""
    parts = [
        _table(
            ("kind", "strength", "runs", "precision", "recall", "cause right", "median gain error"),
            map(_line, kind_scores(outcomes)),
        ),
        *(_overall(outcomes, strength) for strength in ("clear", "mild")),
        _table(
            ("healthy runs", "accused"),
            ((noise, _ratio(accused)) for noise, accused in healthy_accused(outcomes).items()),
        ),
        _table(("ranks", "runs", "culprits named", "wrong accusations"), _sizes(outcomes)),
        _table(
            ("ranks", "kind", "strength", "runs", "precision", "recall", "cause right", "median gain error"),
            _large(outcomes),
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def misses(outcomes: Sequence[Outcome]) -> str:
    """What was not named, and who was accused wrongly, case by case."""
    return _table(("case", "job", "not named", "wrongly accused"), filter(None, map(_miss, outcomes)))


def _line(score: KindScore) -> tuple[str, ...]:
    runs = f"{score.cases}" + (f" (+{score.impossible} impossible)" if score.impossible else "")
    gain = "–" if score.gain_error is None else f"{100 * score.gain_error:.0f} %"
    ratios = (score.precision, score.recall, score.cause_right)
    return (f"`{score.kind}`", score.strength, runs, *map(_ratio, ratios), gain)


def _overall(outcomes: Sequence[Outcome], strength: str) -> str:
    precision, recall = overall(outcomes, strength)
    if not recall.whole:
        return ""
    return f"All kinds, {strength}: precision {_ratio(precision)}, recall {_ratio(recall)}."


def _sizes(outcomes: Iterable[Outcome]) -> list[tuple[str, ...]]:
    """Of clear faults, by the size of the job."""
    by_size: dict[int, list[Outcome]] = {}
    for each in outcomes:
        if each.possible and each.group != HEALTHY and each.strength == "clear":
            by_size.setdefault(each.world, []).append(each)
    rows: list[tuple[str, ...]] = []
    for world, own in sorted(by_size.items()):
        planted = [(each, unit) for each in own for unit in each.units("clear")]
        named = Ratio(sum(unit in each.accused for each, unit in planted), len(planted))
        rows.append((str(world), str(len(own)), _ratio(named), str(sum(len(each.wrong) for each in own))))
    return rows


def _large(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Kinds in large jobs, which the first table counts, too."""
    sizes = sorted({each.world for each in outcomes if each.world >= _LARGE})
    rows: list[tuple[str, ...]] = []
    for world in sizes:
        own = [each for each in outcomes if each.world == world]
        rows += [(str(world), *_line(score)) for score in kind_scores(own)]
        accused = [bool(each.accused) for each in own if each.group == HEALTHY]
        if accused:
            rows.append((str(world), "healthy", "", str(len(accused)), f"accused: {sum(accused)}", "", "", ""))
    return rows


def _miss(outcome: Outcome) -> tuple[str, ...] | None:
    if not outcome.possible or not (outcome.missed or outcome.wrong):
        return None
    job = f"{outcome.topology}, {outcome.world} ranks" + (f", {outcome.when}" if outcome.when else "")
    return (outcome.name, job, _units(outcome.missed), _units(outcome.wrong))


def _units(units: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{kind} ({culprit})" for kind, culprit in units[:4])
    return shown + (f" and {len(units) - 4} more" if len(units) > 4 else "")


def _ratio(ratio: Ratio) -> str:
    if ratio.value is None:
        return "–"
    low, high = ratio.interval
    return f"{ratio.value:.3f} ({ratio.part}/{ratio.whole}; {low:.2f}–{high:.2f})"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines]) if lines else ""
