"""``capture_incomplete``: a file is cut or damaged, or a rank cannot be read; all other findings stand on less."""

from __future__ import annotations

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Bilingual, Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts
from stepscope.store.notes import Note


def judge(run: RunContext) -> list[Finding]:
    """One finding per kind of damage, in the words of the reader's note."""
    codes = finding_facts().capture_incomplete.notes
    losses = [_loss(run, note) for note in run.notes if note.code in codes]
    return findings_of(run, "capture_incomplete", losses, Next(("summary",)))


def _loss(run: RunContext, note: Note) -> Loss:
    stated = note.params.get("rank")
    rank = note.rank if note.rank is not None else stated if isinstance(stated, int) else run.ranks[0]
    words = Bilingual(note.sentence("en").rstrip("."), note.sentence("zh").rstrip("。"))
    return Loss(
        rank=rank,
        cause=note.code,
        title="finding_title.capture_incomplete",
        advice="finding_advice.capture_incomplete",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        words={"what": words},
        confidence="confirmed",
        severity="warning",
        evidence=[number("damage_count", note.count, "notes")],
        proof=[Proof(rank=rank, page="timeline")] if rank in run.ranks else [],
    )


RULE = Rule(kinds=("capture_incomplete",), needs=(), judge=judge)
