"""``capture_incomplete``: a file is cut or damaged, a rank cannot be read, or no usual step was recorded.

All other findings stand on less.
"""

from __future__ import annotations

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.gaps import gaps_as_proof
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Bilingual, Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.first_use import FirstUse, first_use_of
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts
from stepscope.store.notes import Note
from stepscope.texts.numbers import duration, percent


def judge(run: RunContext) -> list[Finding]:
    """One finding per kind of damage, in the words of the reader's note; one of ranks that used a device first."""
    codes = finding_facts().capture_incomplete.notes
    losses = [_loss(run, note) for note in run.notes if note.code in codes]
    for time in run.times.values():
        first = first_use_of(run, time)
        if first is not None and worth_telling(time.share(first.idle_us)):
            losses.append(_first_use(run, time, first))
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


def _first_use(run: RunContext, time: RankTime, first: FirstUse) -> Loss:
    share = time.share(first.idle_us)
    return Loss(
        rank=time.rank,
        cause="first_use",
        title="finding_title.first_use",
        advice="finding_advice.first_use",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        words={"call": first.longest, "longest": duration(first.longest_us), "first_use_share": percent(share)},
        severity="warning",
        evidence=[number("first_use_share", share, "share", link="timeline")],
        proof=gaps_as_proof(run, time.rank, lambda gap: gap.cause == "host"),
    )


RULE = Rule(kinds=("capture_incomplete",), needs=(), judge=judge)
