"""The use of processors at a terminal."""

from __future__ import annotations

from stepscope.analysis.answer import Answer
from stepscope.analysis.cpu import Cpu, CpuRank, CpuUse
from stepscope.report.console import Console
from stepscope.report.rank_lines import of_first_ranks
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text


def show(answer: Answer[Cpu], lang: str) -> None:
    """A line per rank on who uses the machine, then everything that was sampled."""
    console = Console(highlight=False)
    for entry in of_first_ranks(answer.data.ranks, console, lang):
        console.print(f"rank {entry.rank}: {_verdict(entry, lang)}", markup=False, soft_wrap=True)
    uses = frame_of(answer.data.uses)
    shown = [name for name in uses.columns if uses[name].null_count() < len(uses)]
    show_table(uses.select(shown), CpuUse, lang, title=text("cpu_report.uses", lang))


def _verdict(entry: CpuRank, lang: str) -> str:
    if entry.cores is None or entry.machine_busy_share is None:
        return text("cpu_report.unknown", lang)
    values = {
        "cores": entry.cores,
        "busy": f"{entry.machine_busy_share * 100:.0f}",
        "process": f"{entry.process_cores or 0.0:.2f}",
        "other": f"{entry.other_cores or 0.0:.2f}",
    }
    parts = [text("cpu_report.machine", lang, **values)]
    if entry.contended:
        parts.append(text("cpu_report.contended", lang, share=f"{(entry.other_share or 0.0) * 100:.0f}"))
    if entry.crowded_share:
        parts.append(text("cpu_report.crowded", lang, share=f"{entry.crowded_share * 100:.0f}"))
    return " ".join(parts)
