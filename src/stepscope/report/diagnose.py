"""The findings of a run at a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from rich.padding import Padding
from rich.text import Text

from stepscope.analysis.answer import Answer
from stepscope.diagnosis.finding import Bilingual, Diagnosis, Finding, FindingEvidence, NotChecked, PathStep
from stepscope.report.console import Console
from stepscope.report.tables import wide_console
from stepscope.texts import in_language, text
from stepscope.texts.numbers import byte_size, duration, percent, plain

_STYLES: Final = {"critical": "bold red", "warning": "bold yellow", "info": "bold cyan", "healthy": "bold green"}
_SIGNS: Final = {"ratio": "×", "mhz": "MHz"}  # what is counted stands in the label
_INDENT: Final = 4
_AT_A_GLANCE: Final = 3


def show(answer: Answer[Diagnosis], lang: str, view_command: str | None = None, run: str = "PATH") -> None:
    """The verdict, each finding with evidence, advice, its proof and what to ask next, then what was not checked.

    ``view_command`` opens the pages of this run; None where they would show another one. ``run`` is what every command
    needs to be told to ask this run.
    """
    console = wide_console()
    data = answer.data
    _line(console, in_language(data.verdict.sentence, lang), style=_STYLES[data.verdict.severity])
    for number, finding in enumerate(data.findings, 1):
        console.print()
        _show_finding(console, number, data.findings, run, lang)
        if finding.proof and view_command is not None:
            command = f"{view_command} --finding {finding.id}"
            _line(console, text("report.finding_proof", lang, command=command), _INDENT)
    if data.path:
        console.print()
        _line(console, text("report.path" if data.findings else "report.path_without_findings", lang), style="bold")
        for step in data.path:
            _line(console, in_language(path_line(step, data.findings), lang), 2 + 2 * step.depth)
    if data.not_checked:
        console.print()
        heading = "not_checked" if any(entry.recordable for entry in data.not_checked) else "not_checked_at_all"
        _line(console, text(f"report.{heading}", lang), style="bold")
        for line in not_checked_lines(data.not_checked):
            _line(console, in_language(line, lang), 2)


def show_glance(data: Diagnosis, paths: list[str], lang: str) -> None:
    """The verdict, the first findings in two lines each, and the commands that show more."""
    console = wide_console()
    _line(console, in_language(data.verdict.sentence, lang), style=_STYLES[data.verdict.severity])
    for number, finding in enumerate(data.findings[:_AT_A_GLANCE], 1):
        console.print(_head(number, finding, lang), soft_wrap=True)
        _line(console, f"→ {in_language(finding.advice, lang)}", _INDENT)
    captures = " ".join(map(shlex.quote, paths))
    _line(console, text("report.glance_next", lang, paths=captures), style="dim")


def show_sentence(sentence: Bilingual, lang: str) -> None:
    """One sentence on a line of its own."""
    _line(wide_console(), in_language(sentence, lang))


def _show_finding(console: Console, number: int, findings: Sequence[Finding], run: str, lang: str) -> None:
    finding, before = findings[number - 1], findings[: number - 1]
    console.print(_head(number, finding, lang), soft_wrap=True)
    _line(console, " · ".join(in_language(fact, lang) for fact in finding_facts(finding)), _INDENT, style="dim")
    if finding.evidence:
        between = "；" if lang == "zh" else "; "
        _line(console, between.join(in_language(evidence_line(entry), lang) for entry in finding.evidence), _INDENT)
    position = position_line(finding, before)
    if position is not None:
        _line(console, in_language(position, lang), _INDENT)
    _line(console, f"→ {in_language(_advice(finding, before), lang)}", _INDENT)
    following = next_line(finding, run)
    if following is not None:
        _line(console, in_language(following, lang), _INDENT)


def position_line(finding: Finding, before: Sequence[Finding]) -> Bilingual | None:
    """What of a finding is told by those before it, and why it stands behind them; None where nothing is."""
    reasons = {str(number): other for number, other in enumerate(before, 1) if other.id in finding.comes_after}
    if not reasons:
        return None
    cheaper = any((other.gain_us or 0.0) < (finding.gain_us or 0.0) for other in reasons.values())
    return Bilingual.of("report.finding_after" if cheaper else "report.finding_rest", numbers=", ".join(reasons))


def _advice(finding: Finding, before: Sequence[Finding]) -> Bilingual:
    """What was said already is said by its number."""
    same = next((number for number, other in enumerate(before, 1) if other.advice == finding.advice), None)
    return finding.advice if same is None else Bilingual.of("report.finding_same_advice", number=same)


def _head(number: int, finding: Finding, lang: str) -> Text:
    severity = text(f"finding_severity.{finding.severity}", lang)
    space = "" if lang == "zh" else " "  # the Chinese colon brings its own
    title = in_language(finding.title, lang)
    return Text.assemble(f"{number:2}. ", (severity, _STYLES[finding.severity]), f"{space}{title}")


def finding_facts(finding: Finding) -> list[Bilingual]:
    """Kind and cause as they are called in JSON, how sure it is, and what removing it would save."""
    names = [finding.kind, *([finding.cause] if finding.cause else [])]
    return [*(Bilingual(name, name) for name in names), *_certainty_and_gain(finding)]


def facts_in_words(finding: Finding) -> list[Bilingual]:
    """The same for readers who know no JSON."""
    return [Bilingual.of(f"finding_kind.{finding.kind}"), *_certainty_and_gain(finding)]


def _certainty_and_gain(finding: Finding) -> list[Bilingual]:
    """How sure a finding is, and what removing it would save."""
    facts = [Bilingual.of(f"finding_confidence.{finding.confidence}")]
    if finding.gain_us and finding.gain_share:
        gain, share = duration(finding.gain_us), percent(finding.gain_share)
        facts.append(Bilingual.of("report.finding_gain", gain=gain, share=share))
    return facts


def evidence_line(entry: FindingEvidence) -> Bilingual:
    """A number with its unit, and what it was compared with."""
    value = _amount(entry.value, entry.unit)
    if entry.baseline is None:
        return Bilingual(f"{entry.label.en} {value}", f"{entry.label.zh} {value}")
    baseline = _amount(entry.baseline, entry.unit)
    return Bilingual.of("report.finding_evidence", label=entry.label, value=value, baseline=baseline)


def _amount(value: float, unit: str) -> str:
    match unit:
        case "us":
            return duration(value)
        case "bytes":
            return byte_size(value)
        case "share":
            return f"{percent(value)}%"
        case _:
            return f"{plain(value)} {_SIGNS.get(unit, '')}".rstrip()


def next_line(finding: Finding, run: str = "PATH") -> Bilingual | None:
    """What to ask next."""
    if not finding.next_commands:
        return None
    commands = ", ".join(next_commands(finding, run))
    return Bilingual.of("report.finding_next", commands=commands)


def next_commands(finding: Finding, run: str) -> Iterator[str]:
    """The same as commands to copy; ``run`` stands for the capture in each."""
    for command in finding.next_commands:
        name, _, options = command.partition(" ")
        yield " ".join(["stepscope", name, run, options]).rstrip()


def path_line(step: PathStep, findings: Sequence[Finding]) -> Bilingual:
    """A question, what was seen, and the numbers of the findings that it led to."""
    numbers = ", ".join(str(number) for number, finding in enumerate(findings, 1) if finding.id in step.findings)
    seen = Bilingual("", "")
    if step.value is not None and step.threshold is not None:
        value, limit = _told_apart(step.value, step.threshold)
        seen = Bilingual.of("report.path_seen", value=value, limit=limit)
    answer = Bilingual.of(f"decision_answer.{step.answer}")
    whose, then = (f"{step.group}: " if step.group else ""), (f" → {numbers}" if numbers else "")
    return Bilingual(
        f"{whose}{step.text.en} {answer.en}{' ' if seen.en else ''}{seen.en}{then}",
        f"{whose}{step.text.zh}{answer.zh}{seen.zh}{then}",
    )


def _told_apart(value: float, limit: float) -> tuple[str, str]:
    """Two shares in percent, with as many digits as it takes to see which is larger.

    >>> _told_apart(0.123, 0.1), _told_apart(0.09996, 0.1)
    (('12.3', '10.0'), ('9.996', '10.000'))
    """
    for digits in range(1, 4):
        shown = f"{100 * value:.{digits}f}", f"{100 * limit:.{digits}f}"
        if value == limit or shown[0] != shown[1]:
            break
    return shown


def not_checked_lines(entries: Sequence[NotChecked]) -> list[Bilingual]:
    """Kinds that nobody could look for, those with the same remedy together; in one line those that have none."""
    by_remedy: dict[Bilingual, list[Bilingual]] = {}
    for entry in (each for each in entries if each.recordable):
        by_remedy.setdefault(entry.collect_with, []).append(_kind(entry))
    lines = [
        Bilingual.of("report.not_checked_kind", kind=_listed(names), collect=remedy)
        for remedy, names in by_remedy.items()
    ]
    others = [each for each in entries if not each.recordable]
    if others:
        lines.append(Bilingual.of("report.not_checked_others", kinds=_listed(_gathered(others))))
    return lines


def _gathered(entries: Sequence[NotChecked]) -> list[Bilingual]:
    """Names of kinds; those that need other ranks, where there are none, under one."""
    alone = Bilingual.of("finding_needs.other_ranks")
    names = [Bilingual.of("report.kinds_between_ranks") if each.needs == alone else _kind(each) for each in entries]
    return list(dict.fromkeys(names))


def _kind(entry: NotChecked) -> Bilingual:
    return Bilingual.of(f"finding_kind.{entry.kind}")


def _listed(names: Sequence[Bilingual]) -> Bilingual:
    return Bilingual(", ".join(name.en for name in names), "、".join(name.zh for name in names))


def _line(console: Console, words: str, indent: int = 0, style: str = "") -> None:
    """Indented as a block at a terminal, as one line elsewhere."""
    if indent and console.is_terminal:
        console.print(Padding(Text(words, style=style), (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent + words, style=style), soft_wrap=True)
