"""One finding as a text for a framework's issue tracker: what was seen, on what, with which numbers."""

from __future__ import annotations

import json
from typing import Any, Final

from stepscope.diagnosis.finding import Finding
from stepscope.errors import UsageError
from stepscope.report.diagnose import evidence_line, finding_facts, next_commands
from stepscope.report.markdown import escaped
from stepscope.report.run_report import RunReport
from stepscope.report.tables import cell
from stepscope.texts import in_language, text
from stepscope.texts.numbers import ranges
from stepscope.version import __version__

_MOST_SLICES: Final = 15
_MOST_RANKS: Final = 4


def finding_numbered(report: RunReport, number: int) -> Finding:
    """The finding that ``diagnose`` shows under this number."""
    findings = report.diagnosis.findings
    if not 1 <= number <= len(findings):
        raise UsageError("no_such_finding", number=number, count=len(findings))
    return findings[number - 1]


def issue(report: RunReport, number: int, lang: str, excerpt: str | None) -> str:
    """The text; ``excerpt`` is the file beside it, None where there is none."""
    finding = finding_numbered(report, number)
    lines = [f"# {escaped(in_language(finding.title, lang))}", "", f"## {text('report_issue.summary', lang)}", ""]
    lines.append(" · ".join(escaped(in_language(fact, lang)) for fact in finding_facts(finding)))
    if finding.ranks or finding.steps:
        lines.append("")
        lines.append(f"rank {ranges(finding.ranks)}; step {ranges(finding.steps) or '–'}")
    lines += ["", f"## {text('report_issue.environment', lang)}", "", *_environment(report)]
    lines += ["", f"## {text('report_issue.evidence', lang)}", ""]
    lines += [f"- {escaped(in_language(evidence_line(entry), lang))}" for entry in finding.evidence]
    lines += _slices(report, finding, lang)
    lines += ["", _about_excerpt(finding, lang, excerpt)]
    lines += ["", f"## {text('report_issue.reproduce', lang)}", "", "```", *_commands(finding), "```"]
    return "\n".join(lines)


def _environment(report: RunReport) -> list[str]:
    """Versions, devices and what was recorded with, once for ranks that are alike."""
    alike: dict[str, list[int]] = {}
    for row in report.ranks:
        told = [row["device_name"] or row["device_kind"], row["framework"], *_versions(row["versions"])]
        alike.setdefault("; ".join(escaped(str(fact)) for fact in told if fact), []).append(row["rank"])
    lines = [f"- stepscope {__version__}; {', '.join(report.run['readers'])}"]
    for facts, ranks in list(alike.items())[:_MOST_RANKS]:
        lines.append(f"- rank {ranges(ranks)}: {facts or '?'}")
    return lines


def _versions(told: str | None) -> list[str]:
    """``name value`` of what the capture says of versions."""
    try:
        versions: Any = json.loads(told or "{}")
    except ValueError:
        return []
    return [f"{name} {value}" for name, value in versions.items()] if isinstance(versions, dict) else []


def _slices(report: RunReport, finding: Finding, lang: str) -> list[str]:
    picture = next((picture for picture in report.pictures if picture.finding == finding.id), None)
    if picture is None:
        return []
    entries = [(track.name, each) for track in picture.tracks for each in track.slices]
    entries.sort(key=lambda entry: (not entry[1].proves, -entry[1].dur_ns))
    lines = ["", f"### {text('report_issue.slices', lang)}", "", "| name | kind | track | start [µs] | dur [µs] |"]
    lines.append("|---|---|---|---:|---:|")
    for track, each in entries[:_MOST_SLICES]:
        start, duration = (cell(time / 1000, "µs") for time in (each.start_ns, each.dur_ns))
        lines.append(f"| {escaped(each.name[:120])} | {each.kind} | {escaped(track)} | {start} | {duration} |")
    return lines


def _about_excerpt(finding: Finding, lang: str, excerpt: str | None) -> str:
    if excerpt is not None:
        return text("report_issue.excerpt", lang, file=excerpt)
    shown = any(proof.slices or proof.end_ns is not None for proof in finding.proof)
    return text("report_issue.excerpt_with_out" if shown else "report_issue.no_excerpt", lang)


def _commands(finding: Finding) -> list[str]:
    return ["stepscope diagnose PATH", *next_commands(finding, "PATH")]
