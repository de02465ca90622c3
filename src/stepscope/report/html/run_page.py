"""The page of a run: verdict, findings with pictures of their proofs, the step of each rank, tables, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.analysis.communication import Communication
from stepscope.analysis.memory.structures import Memory, Owner
from stepscope.analysis.operators.question import Operator
from stepscope.analysis.steps import Step
from stepscope.analysis.summary import RankSummary
from stepscope.diagnosis.finding import Bilingual, Finding
from stepscope.report.diagnose import evidence_line, facts_in_words, next_line, not_checked_lines
from stepscope.report.html.page_labels import labels, made_with
from stepscope.report.html.sections import Bar, BarPart, Bars, Card, Cards, Lines, Page, Section, Table, Tone, Words
from stepscope.report.html.tables import of_entries, table
from stepscope.report.kernel_labels import readable_name
from stepscope.report.run_report import RunReport
from stepscope.report.step_parts import step_parts
from stepscope.report.tables import cell, unit_of_time
from stepscope.store.note_groups import grouped
from stepscope.texts.numbers import ranges

_MOST_BARS: Final = 48
_MOST_STEPS: Final = 60
_MOST_ROWS: Final = 25
_TONES: Final[dict[str, Tone]] = {"critical": "critical", "warning": "warning", "info": "info", "healthy": "good"}
#: Frameworks as those who made them write them.
_WRITTEN: Final = {"pytorch": "PyTorch", "mindspore": "MindSpore", "tensorflow": "TensorFlow"}
_STEPS: Final = (
    "rank",
    "step",
    "period_us",
    "computing_us",
    "exposed_communication_us",
    "exposed_copy_us",
    "idle_us",
    "warm_up",
)
_OPERATORS: Final = ("rank", "name", "operator", "count", "total_us", "avg_us", "p95_us", "share")
_OPERATIONS: Final = ("name", "kind", "members", "count", "total_us", "mean_us", "wait_us", "bytes", "bus_gb_per_s")
_WAITS: Final = ("rank", "blames", "root", "wait_us", "calls")
_PEAKS: Final = ("rank", "device", "component", "peak_bytes", "peak_step", "reserved_peak_bytes", "capacity_bytes")
_OWNERS: Final = ("owner", "category", "blocks", "bytes", "share")


def run_page(report: RunReport, lang: str) -> Page:
    """The page, which opens in this language."""
    verdict = report.diagnosis.verdict
    return Page(
        lang=lang,
        title=Bilingual.of("report_page.run_title", name=report.name),
        about=_about(report),
        tone=_TONES[verdict.severity],
        verdict=verdict.sentence,
        more_verdict=[],
        sections=[section for section in _sections(report) if section is not None],
        labels=labels(),
        made_with=made_with(),
    )


def _about(report: RunReport) -> list[Words]:
    """On what it ran, and how long its steps were."""
    devices = list(dict.fromkeys(row["device_name"] or row["device_kind"] or "?" for row in report.ranks))
    frameworks = list(dict.fromkeys(row["framework"] for row in report.ranks if row["framework"]))
    hosts = list(dict.fromkeys(row["host"] for row in report.ranks if row["host"]))
    count = len(report.run["ranks"])
    lines: list[Words] = [
        Bilingual.of("report_page.one_rank") if count == 1 else Bilingual.of("report_page.ranks", count=count),
        ", ".join([*devices[:3], *(["…"] if len(devices) > 3 else [])]),
        *(_WRITTEN.get(name, name) for name in frameworks),
    ]
    if hosts:
        lines.append(", ".join([*hosts[:3], *(["…"] if len(hosts) > 3 else [])]))
    return lines


def _sections(report: RunReport) -> list[Section | None]:
    return [
        Cards(
            id="findings",
            title=Bilingual.of("report_title.findings"),
            cards=[_card(number, finding, report) for number, finding in enumerate(report.diagnosis.findings, 1)],
        )
        if report.diagnosis.findings
        else None,
        _step_bars(report),
        _steps(report),
        _operators(report),
        *_communication(report),
        *_memory(report),
        _not_checked(report),
        _notes(report),
    ]


def _card(number: int, finding: Finding, report: RunReport) -> Card:
    return Card(
        number=number,
        tone=_TONES[finding.severity],
        severity=Bilingual.of(f"report_severity.{finding.severity}"),
        title=finding.title,
        facts=[*facts_in_words(finding)],
        evidence=[evidence_line(entry) for entry in finding.evidence],
        advice=finding.advice,
        next=next_line(finding),
        pictures=[picture for picture in report.pictures if picture.finding == finding.id],
        curves=[curve for curve in report.memory_pictures if curve.finding == finding.id],
    )


def _step_bars(report: RunReport) -> Bars | None:
    """A bar for each rank: the ranks that findings name first, since not all of thousands are shown."""
    if report.summary is None or not report.summary.ranks:
        return None
    named = [rank for finding in report.diagnosis.findings for rank in finding.ranks]
    by_rank = {entry.rank: entry for entry in report.summary.ranks}
    order = [rank for rank in dict.fromkeys([*named, *by_rank]) if rank in by_rank]
    shown = sorted(order[:_MOST_BARS])
    longest = max((by_rank[rank].period_us for rank in shown), default=0) or 1
    left = len(order) - len(shown)
    several = len(order) > 1
    bars = [_bar(by_rank[rank], longest, rank in named and several) for rank in shown]
    if not any(bar.parts for bar in bars):
        return None  # the table of steps tells their times
    return Bars(
        id="step",
        title=Bilingual.of("report_title.ranks" if several else "report_title.step"),
        bars=bars,
        after=[Bilingual.of("report_page.more_ranks", count=left)] if left else [],
    )


def _bar(entry: RankSummary, longest: float, named: bool) -> Bar:
    parts = [
        BarPart(part.part, part.label, f"{cell(part.us, part.unit)} {part.unit} · {part.percent} %", part.us / longest)
        for part in step_parts(entry)
    ]
    label = f"rank {entry.rank}"
    unit = unit_of_time(entry.period_us)
    mean = Bilingual.of("report_page.mean_step", time=f"{cell(entry.period_us, unit)} {unit}", count=entry.steps)
    return Bar(f"▸ {label}" if named else label, mean, parts)


def _steps(report: RunReport) -> Table | None:
    answer = report.answers.get("steps")
    if answer is None:
        return None
    frame: pl.DataFrame = answer.data
    return table("steps", frame, Step, _STEPS, _MOST_STEPS, one_unit=True)


def _operators(report: RunReport) -> Table | None:
    """Of one rank: the one that the first finding names."""
    answer = report.answers.get("operators")
    if answer is None or answer.data.is_empty():
        return None
    frame: pl.DataFrame = answer.data
    present = set(frame["rank"])
    named = [rank for finding in report.diagnosis.findings for rank in finding.ranks if rank in present]
    own = frame.filter(rank=named[0] if named else frame["rank"][0])
    own = own.filter(side=own["side"][0])
    names = pl.Series("name", [readable_name(name) for name in own["name"]], dtype=pl.String)
    return table("operators", own.with_columns(names), Operator, _OPERATORS, _MOST_ROWS)


def _communication(report: RunReport) -> Sequence[Table | None]:
    answer = report.answers.get("communication")
    if answer is None:
        return []
    data: Communication = answer.data
    return [
        of_entries("communication", data.operations, _OPERATIONS, _MOST_ROWS),
        of_entries("waits", data.waits, _WAITS, _MOST_ROWS),
    ]


def _memory(report: RunReport) -> Sequence[Table | None]:
    answer = report.answers.get("memory")
    if answer is None:
        return []
    data: Memory = answer.data
    owners = of_entries("memory_owners", [_readable(owner) for owner in data.owners], _OWNERS, _MOST_ROWS)
    return [of_entries("memory_peaks", data.peaks, _PEAKS, _MOST_ROWS), owners]


def _readable(owner: Owner) -> Owner:
    """What no block tells has no name of its own; its kind stands for it."""
    from msgspec.structs import replace

    return owner if owner.blocks is not None else replace(owner, owner=owner.kind)


def _not_checked(report: RunReport) -> Lines | None:
    lines: list[Words] = list(not_checked_lines(report.diagnosis.not_checked))
    return Lines(id="not-checked", title=Bilingual.of("report_title.not_checked"), lines=lines) if lines else None


def _notes(report: RunReport) -> Lines | None:
    """One line per kind, with the ranks it is about."""
    lines: list[Words] = []
    for group in grouped(report.notes):
        whose = f"rank {ranges(group.ranks)}: " if group.ranks and len(report.run["ranks"]) > 1 else ""
        lines.append(Bilingual(whose + group.sentence("en"), whose + group.sentence("zh")))
    return Lines(id="notes", title=Bilingual.of("report_title.notes"), lines=lines) if lines else None
