"""Comparisons at a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from typing import Final

from rich.table import Table
from rich.text import Text

from stepscope.compare.comparison import ComparedSide, Comparison, part_label
from stepscope.diagnosis.finding import Bilingual
from stepscope.report.console import Console
from stepscope.report.sparkline import beside, largest_of
from stepscope.report.tables import cell, unit_of_time, wide_console
from stepscope.texts import in_language, text

_STYLES: Final = {"faster": "bold green", "slower": "bold red", "same": "bold", "not_comparable": "bold yellow"}
_MOST_OPERATORS: Final = 12
_MOST_IN_MARKDOWN: Final = 5


def show(comparison: Comparison, lang: str) -> None:
    """The verdict, both sides, where the step goes, what explains the difference, operators, findings, gates."""
    console = wide_console()
    _line(console, in_language(comparison.verdict.sentence, lang), _STYLES[comparison.verdict.word])
    for reason in comparison.verdict.reasons[1:]:
        _line(console, in_language(reason.sentence, lang))
    steps = {"A": [pair.a_us for pair in comparison.steps], "B": [pair.b_us for pair in comparison.steps]}
    longest = largest_of([*steps["A"], *steps["B"]])
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        _line(console, in_language(side_line(letter, side), lang) + beside(console, steps[letter], longest), "dim")
    if len(comparison.history) > 2:  # two are the comparison itself
        _show_history(console, comparison, lang)
    unit = unit_of(comparison)
    _show_overall(console, comparison, unit, lang)
    _show_explained(console, comparison, unit, lang)
    _show_operators(console, comparison, lang)
    if comparison.memory is not None:
        sizes = {side: cell(getattr(comparison.memory, f"{side}_peak_bytes"), unit="MiB") + " MiB" for side in "ab"}
        _line(console, text("report.compare_memory", lang, **sizes))
    if comparison.findings:
        console.print()
        _line(console, text("report.compare_findings", lang), "bold")
        for change in comparison.findings:
            _line(console, f"  {text(f'finding_change.{change.change}', lang)}: {in_language(change.title, lang)}")
    for gate in comparison.gates:
        key = "report.compare_gate_failed" if gate.failed else "report.compare_gate_passed"
        _line(
            console,
            text(key, lang, gate=gate.gate, reason=in_language(gate.sentence, lang)),
            "bold red" if gate.failed else "green",
        )


def show_saved(name: str, path: str, lang: str) -> None:
    """That a run has a name now; on standard error, since a comparison may follow."""
    Console(stderr=True, highlight=False).print(
        text("report.compare_saved", lang, name=name, path=path), markup=False, soft_wrap=True
    )


def markdown(comparison: Comparison, lang: str) -> str:
    """A comment for a pull request: verdict, parts, the first explanations, findings, gates."""
    unit = unit_of(comparison)
    lines = [f"**{_escaped(in_language(comparison.verdict.sentence, lang))}**", ""]
    lines += [
        f"- {_escaped(in_language(side_line(letter, side), lang))}"
        for letter, side in (("A", comparison.a), ("B", comparison.b))
    ]
    lines += ["", f"| | A [{unit}] | B [{unit}] | Δ [{unit}] | |", "|---|---:|---:|---:|---|"]
    for part in comparison.overall:
        if part.a_us or part.b_us:
            name = _escaped(in_language(part_label(part.part), lang))
            lines.append(
                f"| {name} | {_numbers(part.a_us, part.b_us, part.delta_us, unit, ' | ')} | {_mark(part.significant)} |"
            )
    lines += [
        "",
        f"| {text('report.compare_explained', lang)} | A [{unit}] | B [{unit}] | Δ [{unit}] | |",
        "|---|---:|---:|---:|---|",
    ]
    for entry in comparison.explained[:_MOST_IN_MARKDOWN]:
        numbers = _numbers(entry.a_us, entry.b_us, entry.delta_us, unit, " | ")
        lines.append(f"| {_escaped(in_language(entry.label, lang))} | {numbers} | {_mark(entry.significant)} |")
    lines += [""] if comparison.findings or comparison.gates else []
    for change in comparison.findings[:_MOST_IN_MARKDOWN]:
        lines.append(f"- {text(f'finding_change.{change.change}', lang)}: {_escaped(in_language(change.title, lang))}")
    for gate in comparison.gates:
        key = "report.compare_gate_failed" if gate.failed else "report.compare_gate_passed"
        lines.append(f"- {_escaped(text(key, lang, gate=gate.gate, reason=in_language(gate.sentence, lang)))}")
    return "\n".join(lines)


def _show_history(console: Console, comparison: Comparison, lang: str) -> None:
    console.print()
    series = [entry.period_us for entry in comparison.history]
    _line(console, text("report.compare_history", lang) + beside(console, series), "bold")
    unit = unit_of(comparison)
    table = Table(box=None, pad_edge=False)
    period = f"{text('report_column.period_us', lang)} [{unit}]"
    for name in (text("report_column.name", lang), text("report_column.steps", lang), period, "Δ [%]", ""):
        table.add_column(Text(name), justify="right" if len(table.columns) in (1, 2, 3) else "left")
    for entry in comparison.history:
        changed = text(f"report_word.{entry.word}", lang) if entry.changed and entry.word else ""
        share = f"{100 * entry.delta_share:+.1f}"
        table.add_row(Text(entry.name), str(entry.steps), cell(entry.period_us, unit=unit), share, changed)
    console.print(table)


def _show_overall(console: Console, comparison: Comparison, unit: str, lang: str) -> None:
    console.print()
    _line(console, text("report.compare_overall", lang), "bold")
    table = _table("", unit)
    for part in comparison.overall:
        if part.a_us or part.b_us:
            indent = "" if part.part == "period" else "    " if part.part.startswith("idle_") else "  "
            name = in_language(part_label(part.part), lang)
            table.add_row(
                indent + name, *_numbers(part.a_us, part.b_us, part.delta_us, unit).split("\t"), _mark(part.significant)
            )
    console.print(table)


def _show_explained(console: Console, comparison: Comparison, unit: str, lang: str) -> None:
    if not any(entry.delta_us for entry in comparison.explained):
        return
    console.print()
    _line(console, text("report.compare_explained", lang), "bold")
    table = _table("", unit)
    for entry in comparison.explained:
        numbers = _numbers(entry.a_us, entry.b_us, entry.delta_us, unit).split("\t")
        table.add_row(Text(in_language(entry.label, lang)), *numbers, _mark(entry.significant))
    console.print(table)


def _show_operators(console: Console, comparison: Comparison, lang: str) -> None:
    rows = [row for row in comparison.operators if row.significant][:_MOST_OPERATORS]
    if not rows:
        return
    console.print()
    _line(console, text("report.compare_operators", lang), "bold")
    unit = "µs"
    table = _table("", unit, "calls", "shapes")
    for row in rows:
        name = f"{row.name} → {row.b_name}" if row.b_name else row.name
        calls = f"{row.a_count:g}" if row.a_count == row.b_count else f"{row.a_count:g} → {row.b_count:g}"
        numbers = _numbers(row.a_us, row.b_us, row.delta_us, unit).split("\t")
        table.add_row(Text(name), *numbers, _mark(row.significant), calls, Text((row.shapes or "")[:60]))
    console.print(table)


def _table(name: str, unit: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(name, overflow="fold")
    for heading in (f"A [{unit}]", f"B [{unit}]", f"Δ [{unit}]"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for heading in ("", *others):
        table.add_column(heading)
    return table


def side_line(letter: str, side: ComparedSide) -> Bilingual:
    """What a side is: its name, ranks, steps and device."""
    one = len(side.ranks) == 1
    own = Bilingual(f"rank {side.ranks[0]}", f"rank {side.ranks[0]}") if one else None
    return Bilingual.of(
        "report.compare_side",
        side=letter,
        name=side.name,
        ranks=own or Bilingual.of("report.compare_ranks", count=len(side.ranks)),
        steps=side.steps,
        device=side.device_name or "?",
    )


def unit_of(comparison: Comparison) -> str:
    """The unit in which the steps of both sides read best."""
    return unit_of_time(max(comparison.a.period_us, comparison.b.period_us))


def _numbers(a_us: float, b_us: float, delta_us: float, unit: str, between: str = "\t") -> str:
    sign = "+" if delta_us > 0 else ""
    return between.join((cell(a_us, unit=unit), cell(b_us, unit=unit), sign + cell(delta_us, unit=unit)))


def _mark(significant: bool) -> str:
    return "" if significant else "~"


def _escaped(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\n", " ")


def _line(console: Console, words: str, style: str = "") -> None:
    console.print(Text(words, style=style), soft_wrap=True)
