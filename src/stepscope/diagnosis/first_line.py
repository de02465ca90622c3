"""What a question's answer begins with: the most important finding that concerns it, or that this part is healthy."""

from __future__ import annotations

from stepscope.diagnosis.diagnose import sentence_of
from stepscope.diagnosis.finding import Bilingual, Diagnosis
from stepscope.facts.findings import finding_facts


def first_line(diagnosis: Diagnosis, question: str) -> Bilingual | None:
    """A sentence from the list of findings; None where nothing that concerns the question was checked."""
    kinds = finding_facts().kinds
    concern = {name for name, kind in kinds.items() if question in kind.questions}
    told = [finding for finding in diagnosis.findings if finding.kind in concern]
    if told:
        return sentence_of(told[0])
    # That a capture is whole says nothing about the answer.
    judged = [kind for kind in diagnosis.verdict.checked if kind in concern and kinds[kind].scope != "capture"]
    if not judged:
        return None
    names = [Bilingual.of(f"finding_kind.{kind}") for kind in judged]
    listed = Bilingual(", ".join(name.en for name in names), "、".join(name.zh for name in names))
    return Bilingual.of("finding_verdict.part_healthy", kinds=listed)
