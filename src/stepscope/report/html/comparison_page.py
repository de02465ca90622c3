"""The page of a comparison: verdict, both sides, what explains the difference, operators, findings, gates."""

from __future__ import annotations

from typing import Final

from stepscope.compare.comparison import Comparison, PartChange, part_label
from stepscope.diagnosis.finding import Bilingual
from stepscope.report.compare import side_line, unit_of
from stepscope.report.html.page_labels import labels, made_with
from stepscope.report.html.sections import Bar, BarPart, Bars, Column, Lines, Page, Section, Table, Tone, Words
from stepscope.report.tables import cell

_TONES: Final[dict[str, Tone]] = {
    "faster": "good",
    "slower": "critical",
    "same": "info",
    "not_comparable": "warning",
}
_MOST_OPERATORS: Final = 40
_CERTAIN: Final = 4  # where a row says that it may be chance


def comparison_page(comparison: Comparison, lang: str) -> Page:
    """The page, which opens in this language."""
    verdict = comparison.verdict
    names = {"a": comparison.a.name, "b": comparison.b.name}
    sections = [
        _bars(comparison),
        _explained(comparison),
        _operators(comparison),
        _findings(comparison),
        _history(comparison),
        _gates(comparison),
    ]
    return Page(
        lang=lang,
        title=Bilingual.of("report_page.comparison_title", **names),
        about=[],
        tone=_TONES[verdict.word],
        verdict=verdict.sentence,
        more_verdict=[
            *(reason.sentence for reason in verdict.reasons[1:]),
            side_line("A", comparison.a),
            side_line("B", comparison.b),
        ],
        sections=[section for section in sections if section is not None],
        labels=labels(),
        made_with=made_with(),
    )


def _bars(comparison: Comparison) -> Bars:
    longest = max(comparison.a.period_us, comparison.b.period_us) or 1
    unit = unit_of(comparison)
    bars = []
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        parts = []
        for part in _parts(comparison):
            time = part.a_us if letter == "A" else part.b_us
            if time > 0:
                share = cell(time / side.period_us, "%")
                told = f"{cell(time, unit)} {unit} · {share} %"
                parts.append(BarPart(part.part, part_label(part.part), told, time / longest))
        mean = Bilingual.of("report_page.mean_step", time=f"{cell(side.period_us, unit)} {unit}", count=side.steps)
        bars.append(Bar(f"{letter}: {side.name}", mean, parts))
    return Bars(id="overall", title=Bilingual.of("report_title.overall"), bars=bars)


def _parts(comparison: Comparison) -> list[PartChange]:
    """Parts that add up to the period; idle time by cause."""
    by_cause = any(part.part.startswith("idle_") for part in comparison.overall)
    return [part for part in comparison.overall if part.part != "period" and not (by_cause and part.part == "idle")]


def _explained(comparison: Comparison) -> Table | None:
    unit = unit_of(comparison)
    rows = [_row(entry.label, entry, unit) for entry in comparison.explained if entry.a_us or entry.b_us]
    return _table("explained", unit, rows)


def _operators(comparison: Comparison) -> Table | None:
    rows = [
        [*_row(f"{row.name} → {row.b_name}" if row.b_name else row.name, row, "µs"), row.shapes or ""]
        for row in comparison.operators
        if row.significant
    ]
    return _table("changed_operators", "µs", rows[:_MOST_OPERATORS], Bilingual.of("report_column.shapes"))


def _row(label: Words, entry: object, unit: str) -> list[Words]:
    a_us, b_us, delta_us = (getattr(entry, f"{name}_us") for name in ("a", "b", "delta"))
    sign = "+" if delta_us > 0 else ""
    certain: Words = "" if getattr(entry, "significant", True) else Bilingual.of("report_page.within_noise")
    delta = sign + cell(delta_us, unit).replace("-", "−")  # as the sentences write it
    return [label, cell(a_us, unit), cell(b_us, unit), delta, certain]


def _table(name: str, unit: str, rows: list[list[Words]], *more: Words) -> Table | None:
    if not rows:
        return None
    numbers = [Column(f"{label} [{unit}]", True) for label in ("A", "B", "Δ")]
    columns = [Column(Bilingual.of("report_column.name"), False), *numbers, Column("", False)]
    columns += [Column(label, False) for label in more]
    if not any(row[_CERTAIN] for row in rows):  # nothing within the noise: no column of blanks
        columns = [column for number, column in enumerate(columns) if number != _CERTAIN]
        rows = [[text for number, text in enumerate(row) if number != _CERTAIN] for row in rows]
    return Table(id=name, title=Bilingual.of(f"report_title.{name}"), columns=columns, rows=rows)


def _findings(comparison: Comparison) -> Lines | None:
    lines: list[Words] = []
    for change in comparison.findings:
        word = Bilingual.of(f"finding_change.{change.change}")
        lines.append(Bilingual(f"{word.en}: {change.title.en}", f"{word.zh}：{change.title.zh}"))
    title = Bilingual.of("report_title.changed_findings")
    return Lines(id="findings", title=title, lines=lines) if lines else None


def _history(comparison: Comparison) -> Section | None:
    if len(comparison.history) <= 2:  # two are the comparison itself
        return None
    unit = unit_of(comparison)
    labels_of = {"name": False, "steps": True, "period_us": True, "delta_share": True, "word": False}
    units = {"period_us": f" [{unit}]", "delta_share": " [%]"}
    columns = [
        Column(_with_unit(Bilingual.of(f"report_column.{name}"), units.get(name, "")), number)
        for name, number in labels_of.items()
    ]
    rows: list[list[Words]] = [
        [
            entry.name,
            str(entry.steps),
            cell(entry.period_us, unit),
            f"{100 * entry.delta_share:+.1f}",
            Bilingual.of(f"report_word.{entry.word}") if entry.changed and entry.word else "",
        ]
        for entry in comparison.history
    ]
    return Table(id="history", title=Bilingual.of("report_title.history"), columns=columns, rows=rows)


def _with_unit(label: Bilingual, unit: str) -> Bilingual:
    return Bilingual(label.en + unit, label.zh + unit)


def _gates(comparison: Comparison) -> Lines | None:
    lines: list[Words] = []
    for gate in comparison.gates:
        key = "report.compare_gate_failed" if gate.failed else "report.compare_gate_passed"
        lines.append(Bilingual.of(key, gate=gate.gate, reason=gate.sentence))
    return Lines(id="gates", title=Bilingual.of("report_title.gates"), lines=lines) if lines else None
