"""FLOPs at a terminal."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.answer import Answer
from stepscope.analysis.flops import Flops
from stepscope.analysis.flops.question import RankFlops, StepFlops
from stepscope.analysis.flops.rates import OperatorFlops
from stepscope.report.console import Console
from stepscope.report.rank_lines import of_first_ranks
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text

_MOST: Final = 20
_OPERATOR: Final = (
    "rank",
    "name",
    "dtype",
    "count",
    "flops",
    "device_us",
    "flops_per_s",
    "peak_share",
    "intensity",
    "bound",
    "tensor_core_share",
)
_STEP: Final = (
    "rank",
    "step",
    "duration_us",
    "model_flops",
    "model_flops_per_s",
    "mfu_share",
    "flops",
    "flops_per_s",
    "hfu_share",
    "warm_up",
)
_TERA: Final = 1e12


def show(answer: Answer[Flops], lang: str) -> None:
    """For each rank a verdict, then operators by FLOPs, then the steps."""
    console = Console(highlight=False)
    data = answer.data
    for rank in of_first_ranks(data.ranks, console, lang):
        console.print(_verdict(rank, lang), markup=False, soft_wrap=True)
    most = data.operators[0]
    if most.bound is not None and most.attainable_share is not None:
        line = text(
            "report.flops_bound",
            lang,
            name=most.name,
            dtype=most.dtype,
            bound=text("report.bound_compute" if most.bound == "compute" else "report.bound_memory", lang),
            share=f"{100 * most.attainable_share:.1f}",
        )
        console.print(line, markup=False, soft_wrap=True)
    show_table(frame_of(data.operators, _OPERATOR), OperatorFlops, lang, most=_MOST)
    if data.steps:
        show_table(frame_of(data.steps, _STEP), StepFlops, lang, most=_MOST)


def _verdict(rank: RankFlops, lang: str) -> str:
    """What a rank reaches; what it computes again is told where there is any."""
    known = rank.mfu_share is not None
    again = ""
    if rank.flops_per_s != rank.model_flops_per_s:
        rate, share = f"{(rank.flops_per_s or 0) / _TERA:,.3f}", f"{100 * (rank.hfu_share or 0):.1f}"
        key = "report.flops_recomputed" if known else "report.flops_recomputed_without_peak"
        again = text(key, lang, rate=rate, hfu=share)
    return text(
        "report.flops_rank" if known else "report.flops_rank_without_peak",
        lang,
        rank=rank.rank,
        device=rank.device or text("flops_words.no_device_name", lang),
        model_rate=f"{(rank.model_flops_per_s or 0) / _TERA:,.3f}",
        mfu=f"{100 * (rank.mfu_share or 0):.1f}",
        recomputed=again,
        tensor_cores="?" if rank.tensor_core_share is None else f"{100 * rank.tensor_core_share:.1f}",
    )
