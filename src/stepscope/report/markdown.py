"""A run as a summary for CI in GitHub's Markdown: at most 60 lines, the verdict first."""

from __future__ import annotations

from typing import Final

from stepscope.report.run_report import RunReport
from stepscope.report.step_parts import step_parts
from stepscope.report.tables import cell
from stepscope.store.note_groups import grouped
from stepscope.texts import in_language, text
from stepscope.texts.numbers import duration, percent
from stepscope.version import __version__

_MOST_FINDINGS: Final = 8
_MOST_RANKS: Final = 16
_SIGNS: Final = {"critical": "🔴", "warning": "🟠", "info": "🔵"}


def markdown(report: RunReport, lang: str) -> str:
    """Verdict, findings with gain and advice, where the step of each rank goes, and what is not known."""
    diagnosis = report.diagnosis
    lines = [
        f"### {escaped(report.name)}",
        "",
        f"**{escaped(in_language(diagnosis.verdict.sentence, lang))}**",
    ]
    lines += _findings(report, lang)
    lines += _step(report, lang)
    kinds = len(list(grouped(report.notes)))
    counts = {"not_checked": len(diagnosis.not_checked), "notes": kinds, "version": __version__}
    return "\n".join([*lines, "", text("report_markdown.counts", lang, **counts)])


def _findings(report: RunReport, lang: str) -> list[str]:
    findings = report.diagnosis.findings
    if not findings:
        return []
    words = (text(f"report_markdown.{name}", lang) for name in ("finding", "gain", "advice"))
    lines = ["", f"| | {' | '.join(words)} |", "|---|---|---:|---|"]
    for finding in findings[:_MOST_FINDINGS]:
        gain = ""
        if finding.gain_us is not None and finding.gain_share is not None:
            gain = f"{duration(finding.gain_us)} ({percent(finding.gain_share)}%)"
        title, advice = (escaped(in_language(words, lang)) for words in (finding.title, finding.advice))
        lines.append(f"| {_SIGNS[finding.severity]} | {title} | {gain} | {advice} |")
    left = len(findings) - _MOST_FINDINGS
    return lines if left <= 0 else [*lines, "", text("report_markdown.more_findings", lang, count=left)]


def _step(report: RunReport, lang: str) -> list[str]:
    """One table: ranks downwards, parts that any of them has across."""
    if report.summary is None or not report.summary.ranks:
        return []
    named = [rank for finding in report.diagnosis.findings for rank in finding.ranks]
    known = {entry.rank: entry for entry in report.summary.ranks}
    shown = sorted([rank for rank in dict.fromkeys([*named, *known]) if rank in known][:_MOST_RANKS])
    parts = {rank: {part.part: part for part in step_parts(known[rank])} for rank in shown}
    labels = {name: part.label for of_rank in parts.values() for name, part in of_rank.items()}
    heads = " | ".join(escaped(in_language(label, lang)) for label in labels.values())
    lines = [
        "",
        f"| rank | {text('report_markdown.step', lang)} [ms] | {heads} |",
        "|---|---:|" + "---:|" * len(labels),
    ]
    for rank in shown:
        shares = " | ".join(f"{parts[rank][name].percent}%" if name in parts[rank] else "" for name in labels)
        lines.append(f"| {rank} | {cell(known[rank].period_us, 'ms')} | {shares} |")
    left = len(known) - len(shown)
    return lines if not left else [*lines, "", text("report_markdown.more_ranks", lang, count=left)]


def escaped(words: str) -> str:
    """A text of a capture that Markdown shows as it is, on one line.

    >>> escaped("a|b <img> `x`")
    'a\\\\|b &lt;img&gt; \\\\`x\\\\`'
    """
    for sign in "\\`*_[]|":
        words = words.replace(sign, f"\\{sign}")
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ").replace("\r", " ")
