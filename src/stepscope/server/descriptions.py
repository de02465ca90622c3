"""What the list of runs and the head of each page say about a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import polars as pl

from stepscope.analysis.timeline.view import TimelineView
from stepscope.questions import QUESTIONS
from stepscope.report.json_document import note_entry, note_groups
from stepscope.run import Run
from stepscope.server.library import Entry
from stepscope.server.replies import Fault, fault_of
from stepscope.store.run_labels import RunLabel, label_key, run_labels
from stepscope.store.schema import TABLES

#: What is the same each time a run is described is held for as many runs.
_RUNS_DESCRIBED: Final = 16


@dataclass(frozen=True)
class ReadProgress:
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True)
class VerdictLine:
    """What the kept diagnosis of a run says; ``findings`` counts those that accuse."""

    severity: str
    sentence: str
    findings: int
    period_us: float | None


@dataclass(frozen=True)
class RunSummary:
    """One line of the list of runs; what only a run that was read can tell is null before."""

    id: str
    name: str
    path: str
    window: str | None
    state: str
    progress: ReadProgress
    error: Fault | None
    uploaded: bool
    verdict: VerdictLine | None
    label: str | None
    tags: list[str]
    ranks: int | None = None
    steps: int | None = None
    slices: int | None = None
    duration_ns: int | None = None
    devices: list[str] | None = None
    frameworks: list[str] | None = None
    notes: int | None = None
    version: str | None = None
    #: Absolute, as decimal text; small where the capture's clock does not start in 1970.
    recorded_ns: str | None = None
    source_bytes: int | None = None
    device_names: list[str] | None = None


@dataclass(frozen=True)
class RunList:
    """``revision`` changes whenever anything here does."""

    revision: int
    roots: list[str]
    max_upload_bytes: int
    runs: list[RunSummary]


@dataclass(frozen=True)
class NoteGroupEntry:
    """All notes of one code; ``level`` info asks nothing of a user."""

    code: str
    level: str
    message: str
    ranks: list[int]
    rank_ranges: str
    files: list[str]
    count: int


@dataclass(frozen=True)
class NoteEntry:
    code: str
    level: str
    message: str
    rank: int | None
    file: str
    place: str
    count: int
    params: dict[str, Any]


@dataclass(frozen=True)
class RankFacts:
    rank: int
    host: str | None
    device_kind: str | None
    device_name: str | None
    framework: str | None
    level: str | None
    dp: int | None
    tp: int | None
    pp: int | None
    ep: int | None
    cp: int | None
    first_at_ns: int | None
    last_at_ns: int | None
    clock_offset_ns: str
    source: str | None


@dataclass(frozen=True)
class RunDetails:
    """A run that was read. ``tables`` counts rows, so that a page knows what was not collected."""

    summary: RunSummary
    windows: list[str]
    origin_ns: str
    end_at_ns: int
    rank_list: list[RankFacts]
    step_list: list[int]
    tables: dict[str, int]
    readers: list[str]
    notes: list[NoteEntry]
    note_groups: list[NoteGroupEntry]
    analyses: list[str]


def counted_facts(run: Run, view: TimelineView) -> dict[str, object]:
    """The part of a summary that only a run that was read can tell; worked out once."""
    ranks = run.table("ranks").select("device_kind", "device_name", "framework").collect()
    return {
        "ranks": len(run.ranks),
        "steps": run.table("steps").select(pl.col("step").n_unique()).collect().item() or 0,
        "slices": run.store.manifest.rows("slices"),
        "duration_ns": view.clock.end_ns - view.clock.origin_ns,
        "devices": sorted(ranks["device_kind"].drop_nulls().cast(pl.String).unique().to_list()),
        "device_names": sorted(ranks["device_name"].drop_nulls().cast(pl.String).unique().to_list()),
        "frameworks": sorted(ranks["framework"].drop_nulls().cast(pl.String).unique().to_list()),
        "notes": run.store.manifest.rows("notes"),
        "version": view.version,
        "recorded_ns": str(view.clock.origin_ns),
        "source_bytes": sum(part.bytes for part in run.store.manifest.parts),
    }


def summary(entry: Entry, lang: str, labels: Mapping[str, RunLabel] | None = None) -> RunSummary:
    """One line of the list of runs; ``labels`` are those of all runs, where many are described."""
    known: dict[str, Any] = entry.facts
    label = (run_labels() if labels is None else labels).get(label_key(entry.path, entry.window), RunLabel())
    return RunSummary(
        id=entry.id,
        name=entry.name,
        path=_name_only(entry) if entry.uploaded else str(entry.path),
        window=entry.window,
        state=entry.state,
        progress=ReadProgress(entry.done_bytes, entry.total_bytes),
        error=None if entry.error is None else fault_of(entry.error, lang),
        uploaded=entry.uploaded,
        verdict=_verdict(entry, lang),
        label=label.name,
        tags=label.tags,
        **known,
    )


def _verdict(entry: Entry, lang: str) -> VerdictLine | None:
    diagnosis = entry.diagnosis()
    if diagnosis is None:
        return None
    verdict = diagnosis.verdict
    accusing = sum(finding.accuses for finding in diagnosis.findings)
    return VerdictLine(verdict.severity, getattr(verdict.sentence, lang), accusing, diagnosis.period_us)


def details(entry: Entry, run: Run, view: TimelineView, lang: str) -> RunDetails:
    """A run that was read."""
    clock = view.clock
    return RunDetails(
        summary=summary(entry, lang),
        windows=run.windows,
        origin_ns=str(clock.origin_ns),
        end_at_ns=clock.end_ns - clock.origin_ns,
        rank_list=_rank_list(run, view),
        step_list=_step_list(run),
        tables={name: run.store.manifest.rows(name) for name in TABLES},
        readers=sorted({part.reader for part in run.store.manifest.parts}),
        notes=[NoteEntry(**note_entry(note, lang)) for note in run.notes],
        note_groups=[NoteGroupEntry(**entry) for entry in note_groups(run.notes, lang)],
        analyses=list(QUESTIONS),
    )


@lru_cache(maxsize=_RUNS_DESCRIBED)
def _rank_list(run: Run, view: TimelineView) -> list[RankFacts]:
    """The ranks of a run that was read; each time it is read again it is another run."""
    wanted = [name for name in RankFacts.__dataclass_fields__ if not name.endswith("_ns")]
    clock = view.clock
    return [
        RankFacts(
            **{name: row[name] for name in wanted},
            first_at_ns=clock.at(row["rank"], row["first_ns"]),
            last_at_ns=clock.at(row["rank"], row["last_ns"]),
            clock_offset_ns=str(clock.ranks[row["rank"]].offset_ns),
        )
        for row in run.table("ranks").sort("rank").select(*wanted, "first_ns", "last_ns").collect().to_dicts()
    ]


@lru_cache(maxsize=_RUNS_DESCRIBED)
def _step_list(run: Run) -> list[int]:
    steps = run.table("steps").select(pl.col("step").drop_nulls().unique().sort()).collect()["step"]
    return [int(step) for step in steps]


def _name_only(entry: Entry) -> str:
    """Where a dropped file lies is nobody's business."""
    return entry.path.name
