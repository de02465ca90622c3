"""The input pipeline at a terminal: what was seen of each rank, then stages and batches. Findings stand above it."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.answer import Answer
from stepscope.analysis.pipeline.structure import BatchTimes, Pipeline, PipelineOp, Starving, Verdict
from stepscope.report.console import Console
from stepscope.report.rank_lines import of_first_ranks
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import in_language, text

_OPS: Final = (
    "rank",
    "name",
    "workers",
    "capacity",
    "use_share",
    "use_p50_share",
    "empty_share",
    "full_share",
    "starving_use_share",
    "blame_share",
    "cpu_cores",
    "cpu_per_worker_share",
    "cost_us",
)
_MOST_NAMED: Final = 20


def show(answer: Answer[Pipeline], lang: str) -> None:
    """What each rank's loop showed and what to change, the stages from reader to device, and the times of batches."""
    console = Console(highlight=False)
    pipeline = answer.data
    starving = {entry.rank: entry for entry in pipeline.starving}
    first = sorted(
        pipeline.verdicts, key=lambda verdict: (verdict != pipeline.verdict, verdict.bound == "none", verdict.rank)
    )
    for verdict in of_first_ranks(first, console, lang):
        for line in _lines(verdict, starving[verdict.rank], lang):
            console.print(line, markup=False, soft_wrap=True)
    if pipeline.ops:
        show_table(frame_of(pipeline.ops).select(_OPS), PipelineOp, lang, title=text("pipeline_report.ops", lang))
    if pipeline.batches:
        show_table(frame_of(pipeline.batches), BatchTimes, lang, title=text("pipeline_report.batches", lang))


def _lines(verdict: Verdict, starving: Starving, lang: str) -> list[str]:
    lines = [f"rank {verdict.rank}:", *(f"  {in_language(sentence, lang)}" for sentence in verdict.why)]
    if starving.which:
        named = ", ".join(map(str, starving.which[:_MOST_NAMED])) + (" …" if starving.count > _MOST_NAMED else "")
        key = "pipeline_report.starving_steps" if starving.unit == "step" else "pipeline_report.starving_batches"
        lines.append("  " + text(key, lang, count=starving.count, counted=starving.counted, which=named))
    return lines + [f"  → {in_language(sentence, lang)}" for sentence in verdict.advice]
