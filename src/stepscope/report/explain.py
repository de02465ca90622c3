"""A field's explanation at a terminal."""

from __future__ import annotations

from stepscope.questions.explain import Explanation
from stepscope.report.console import Console
from stepscope.texts import text

_MOST = 20


def show(explanation: Explanation, lang: str) -> None:
    """Meaning, formula, sources, the SQL that lists the proof, and the vendor's values."""
    console = Console(highlight=False)

    def say(key: str, **params: object) -> None:
        console.print(text(f"report.{key}", lang, **params), markup=False, soft_wrap=True)

    console.print(f"{explanation.field}: {explanation.meaning[lang]}", markup=False, soft_wrap=True)
    if explanation.formula != explanation.field.rpartition(".")[2]:  # what a file states is itself
        say("explain_formula", formula=explanation.formula)
    for source in explanation.sources[:_MOST]:
        say("explain_source", source=source)
    if explanation.sql:
        say("explain_sql", sql=explanation.sql)
    for ours in explanation.ours[:_MOST]:
        label = _label(ours.rank, ours.step, ours.name)
        say("explain_ours" if label else "explain_our_only", label=label, value=_shown(ours.value))
    for value in explanation.vendor[:_MOST]:
        label = _label(value.rank, value.step, value.key)
        say("explain_vendor", file=value.file, label=label, value=_shown(value.value))


def _label(rank: int | None, step: int | None, name: str | None) -> str:
    parts = ("" if rank is None else f"rank {rank}", "" if step is None else f"step {step}", name or "")
    return ", ".join(part for part in parts if part)


def _shown(value: object) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
