"""The first line of an answer: the most important finding that concerns the question, or that this part is healthy."""

from __future__ import annotations

from stepscope.diagnosis.finding import Bilingual, Diagnosis
from stepscope.diagnosis.verdict import about_the_run, kinds_in_words, sentence_of
from stepscope.facts.findings import finding_facts


def first_line(diagnosis: Diagnosis, question: str) -> Bilingual | None:
    """A sentence from the list of findings; None where nothing that concerns the question was checked."""
    kinds = finding_facts().kinds
    concern = {name for name, kind in kinds.items() if question in kind.questions}
    told = [finding for finding in diagnosis.findings if finding.kind in concern]
    if told:
        return sentence_of(told[0])
    judged = about_the_run(kind for kind in diagnosis.verdict.checked if kind in concern)
    return Bilingual.of("finding_verdict.part_healthy", kinds=kinds_in_words(judged)) if judged else None
