"""The run in one sentence, and a finding in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from stepscope.diagnosis.finding import Bilingual, Finding, RunVerdict
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import duration, percent

#: Shares below are shown as 0.0 %.
_NOTHING_SHARE: Final = 0.0005


def verdict_on(findings: list[Finding], checked: list[str]) -> RunVerdict:
    """The first finding that accuses, in one sentence with what it costs."""
    worst = next((finding for finding in findings if finding.accuses), None)
    if worst is not None:
        return RunVerdict(severity=worst.severity, sentence=sentence_of(worst), finding=worst.id, checked=checked)
    judged = about_the_run(checked)
    if not judged:
        sentence = Bilingual.of("finding_verdict.nothing_checked")
        return RunVerdict(severity="info", sentence=sentence, finding=None, checked=checked)
    if len(judged) > finding_facts().lists.most_kinds_named:
        nothing = Bilingual.of("finding_verdict.healthy", count=len(checked))
        sentence = _nothing_certain(findings, len(checked)) or nothing
        return RunVerdict(severity="healthy", sentence=sentence, finding=None, checked=checked)
    # Nobody calls a run healthy of which hardly anything is known.
    sentence = Bilingual.of("finding_verdict.little_checked", kinds=kinds_in_words(judged))
    return RunVerdict(severity="info", sentence=sentence, finding=None, checked=checked)


def _nothing_certain(findings: list[Finding], checked: int) -> Bilingual | None:
    """Where a remark could cost as much as a problem does; None where none does."""
    remarks = [finding for finding in findings if (finding.gain_share or 0.0) >= finding_facts().strength.mild_share]
    if not remarks:
        return None
    largest = max(remarks, key=lambda finding: finding.gain_share or 0.0)
    return Bilingual.of(
        "finding_verdict.remarks",
        count=checked,
        remarks=len(remarks),
        gain=duration(largest.gain_us),
        share=percent(largest.gain_share),
    )


def about_the_run(kinds: Iterable[str]) -> list[str]:
    """Kinds that say something about the run, and not about whether its capture is whole."""
    return [kind for kind in kinds if finding_facts().kinds[kind].scope != "capture"]


def kinds_in_words(kinds: Sequence[str]) -> Bilingual:
    """The names of a few kinds, the number of many."""
    if len(kinds) > finding_facts().lists.most_kinds_named:
        return Bilingual.of("finding_verdict.many_kinds", count=len(kinds))
    names = [Bilingual.of(f"finding_kind.{kind}") for kind in kinds]
    return Bilingual(", ".join(name.en for name in names), "、".join(name.zh for name in names))


def sentence_of(finding: Finding) -> Bilingual:
    """Cause, culprit, place and gain in one sentence."""
    title = finding.title
    if finding.confidence == "suspect":
        title = Bilingual.of("finding_verdict.suspected", title=title)
    if not finding.gain_us and finding.together is None:
        return Bilingual(f"{title.en}.", f"{title.zh}。")
    gain, share = duration(finding.gain_us), percent(finding.gain_share)
    if finding.together is not None:
        together = duration(finding.together.value)
        if (finding.gain_share or 0.0) < _NOTHING_SHARE:
            return Bilingual.of("finding_verdict.hidden_whole", title=title, together=together)
        return Bilingual.of("finding_verdict.hidden", title=title, gain=gain, share=share, together=together)
    return Bilingual.of("finding_verdict.with_gain", title=title, gain=gain, share=share)
