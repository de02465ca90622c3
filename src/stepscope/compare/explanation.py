"""What explains the difference: a short ranked list that adds up to it exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from stepscope.compare.comparison import Explanation, OperatorChange, PartChange, part_label
from stepscope.compare.credit import PARTS
from stepscope.diagnosis.finding import Bilingual
from stepscope.facts.comparison import comparison_facts


def explained(operators: Iterable[OperatorChange], overall: Iterable[PartChange]) -> list[Explanation]:
    """Operators by name, causes of idle time, overlap of steps; what is too small for a line is one per part."""
    facts = comparison_facts()
    period = next(part for part in overall if part.part == "period")
    entries = [*_of_operators(operators, period), *_of_other_parts(overall, period)]
    entries.sort(key=lambda entry: (-abs(entry.delta_us), entry.part, entry.name or ""))
    largest = abs(entries[0].delta_us) if entries else 0.0
    least = facts.least_explained_share * max(abs(period.delta_us), largest)
    shown = [
        entry for number, entry in enumerate(entries) if number < facts.most_explained and abs(entry.delta_us) >= least
    ]
    shown = [entry for entry in shown if entry.delta_us]
    kept = {id(entry) for entry in shown}
    return [*shown, *_rest([entry for entry in entries if id(entry) not in kept], period)]


def _of_operators(operators: Iterable[OperatorChange], period: PartChange) -> list[Explanation]:
    by_name: defaultdict[tuple[str, str, str | None], list[OperatorChange]] = defaultdict(list)
    for row in operators:
        by_name[row.part, row.name, row.b_name].append(row)
    return [
        _entry(part, name, _operator_label(name, b_name, rows), rows, period)
        for (part, name, b_name), rows in by_name.items()
    ]


def _operator_label(name: str, b_name: str | None, rows: list[OperatorChange]) -> Bilingual:
    if b_name is not None:
        return Bilingual(f"{name} → {b_name}", f"{name} → {b_name}")
    statuses = {row.status for row in rows}
    if statuses == {"only_a"}:
        return Bilingual.of("compare_label.only_a", name=name)
    if statuses == {"only_b"}:
        return Bilingual.of("compare_label.only_b", name=name)
    return Bilingual(name, name)


def _of_other_parts(overall: Iterable[PartChange], period: PartChange) -> list[Explanation]:
    return [
        _entry(part.part, part.part, part_label(part.part), [part], period)
        for part in overall
        if part.part.startswith("idle_") or part.part == "overlap"
    ]


def _entry(
    part: str,
    name: str | None,
    label: Bilingual,
    rows: list[OperatorChange] | list[PartChange] | list[Explanation],
    period: PartChange,
) -> Explanation:
    a_ns, b_ns = sum(round(row.a_us * 1000) for row in rows), sum(round(row.b_us * 1000) for row in rows)
    delta_us = (b_ns - a_ns) / 1000
    return Explanation(
        part=part,
        name=name,
        label=label,
        a_us=a_ns / 1000,
        b_us=b_ns / 1000,
        delta_us=delta_us,
        share_of_change=delta_us / period.delta_us if period.delta_us else None,
        significant=any(row.significant for row in rows),
        rows=len(rows),
    )


def _rest(entries: list[Explanation], period: PartChange) -> list[Explanation]:
    """What was not shown, per part; the causes of idle time together."""
    by_part: defaultdict[str, list[Explanation]] = defaultdict(list)
    for entry in entries:
        by_part[entry.part if entry.part in PARTS else "idle"].append(entry)
    rest = []
    for part, own in by_part.items():
        label = Bilingual.of("compare_label.rest", part=part_label(part), count=len(own))
        entry = _entry(part, None, label, own, period)
        if entry.a_us or entry.b_us:
            rest.append(entry)
    return rest
