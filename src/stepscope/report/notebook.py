"""A run as a notebook shows it: verdict, findings, where the step goes. Styles are inline, all texts escaped."""

from __future__ import annotations

from html import escape
from typing import Final

from stepscope.report.diagnose import finding_facts
from stepscope.report.run_report import RunReport
from stepscope.report.step_parts import step_parts
from stepscope.report.tables import cell
from stepscope.texts import in_language, text

_COLOURS: Final = {"critical": "#b42318", "warning": "#8a5200", "info": "#1d5fd1", "healthy": "#116c3c"}
_PARTS: Final = {
    "computing": "#2a6fdb",
    "exposed_communication": "#a83c12",
    "exposed_copy": "#0e8a93",
    "overlap": "#8554c7",
    "idle_data": "#6a8a2e",
    "idle_host": "#5a6b94",
    "idle_sync": "#7c5c8a",
    "idle_gc": "#a0558c",
    "idle_collective": "#96653a",
    "idle_dependency": "#4f8489",
    "idle_profiler": "#8f7f22",
}
_PIECE: Final = "display:inline-block;height:14px"
_OTHER_PART: Final = "#8a94a3"
_MOST_FINDINGS: Final = 5
_MOST_RANKS: Final = 8


def notebook_html(report: RunReport, lang: str) -> str:
    """A few lines of HTML that need nothing around them."""
    verdict = report.diagnosis.verdict
    colour = _COLOURS[verdict.severity]
    sentence = escape(in_language(verdict.sentence, lang))
    pieces = [f'<p style="border-left:4px solid {colour};padding-left:8px"><b>{sentence}</b></p>']
    pieces += _findings(report, lang)
    pieces += _bars(report, lang)
    return f'<div class="stepscope-run" style="max-width:60em">{"".join(pieces)}</div>'


def _findings(report: RunReport, lang: str) -> list[str]:
    findings = report.diagnosis.findings
    if not findings:
        return []
    entries = []
    for finding in findings[:_MOST_FINDINGS]:
        title = escape(in_language(finding.title, lang))
        facts = escape(" · ".join(in_language(fact, lang) for fact in finding_facts(finding)))
        severity = escape(text(f"report_severity.{finding.severity}", lang))
        label = f'<span style="color:{_COLOURS[finding.severity]}">{severity}</span>'
        entries.append(f'<li>{label} {title}<br><small style="opacity:.75">{facts}</small></li>')
    left = len(findings) - _MOST_FINDINGS
    more = (
        f"<p><small>{escape(text('report_markdown.more_findings', lang, count=left))}</small></p>" if left > 0 else ""
    )
    return [f"<ol>{''.join(entries)}</ol>{more}"]


def _bars(report: RunReport, lang: str) -> list[str]:
    if report.summary is None or not report.summary.ranks:
        return []
    shown = report.summary.ranks[:_MOST_RANKS]
    longest = max(entry.period_us for entry in shown) or 1
    pieces, legend = [], {}
    for entry in shown:
        spans = []
        for part in step_parts(entry):
            colour = _PARTS.get(part.part, _OTHER_PART)
            label = escape(in_language(part.label, lang))
            width = f"{100 * part.us / longest:.2f}%"
            tip = f"{label}: {part.percent}%"
            spans.append(f'<span title="{tip}" style="{_PIECE};width:{width};background:{colour}"></span>')
            legend[label] = colour
        time = f"rank {entry.rank}: {cell(entry.period_us, 'ms')} ms"
        pieces.append(f'<div style="line-height:14px;white-space:nowrap">{"".join(spans)}</div><small>{time}</small>')
    names = [f'<span style="color:{colour}">■</span> {label}' for label, colour in legend.items()]
    left = len(report.summary.ranks) - len(shown)
    more = f" · {escape(text('report_markdown.more_ranks', lang, count=left))}" if left > 0 else ""
    return [*pieces, f"<div><small>{' &nbsp; '.join(names)}{more}</small></div>"]
