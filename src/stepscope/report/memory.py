"""Where memory goes, at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.memory.structures import Memory, OutOfMemory, Owner
from stepscope.report.console import Console
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text
from stepscope.texts.numbers import byte_size

_MOST = 20
_DIFFERENCE = ("site", "verdict", "base_blocks", "blocks", "base_bytes", "bytes", "delta_bytes")
_PEAK = ("rank", "device", "component", "measure", "peak_bytes", "peak_step", "reserved_peak_bytes", "last_bytes")


def show(answer: Answer[Memory], lang: str) -> None:
    """The peak and what limits it, then who owns it, then tables."""
    data = answer.data
    console = Console(highlight=False)

    def say(key: str, **params: object) -> None:
        console.print(text(key, lang, **params), markup=False, soft_wrap=True)

    named = {"rank": data.rank, "device": data.device, "component": data.component, "measure": data.measure}
    key = "report.memory_peak" if data.peak_step is None else "report.memory_peak_in_step"
    say(key, peak=byte_size(data.peak_bytes), step=data.peak_step, **named)
    for failure in data.out_of_memory:
        say(f"memory_cause.{failure.cause}", **_sizes(failure))
    main = next(peak for peak in data.peaks if (peak.rank, peak.device, peak.component) == _space(data))
    if main.capacity_bytes is not None:
        held = byte_size(main.reserved_peak_bytes or main.peak_bytes)
        sizes = {"capacity": byte_size(main.capacity_bytes), "headroom": byte_size(main.headroom_bytes)}
        say("report.memory_capacity", reserved=held, **sizes)
    _show_fragmentation(data, console, lang)
    say("report.memory_owners", bytes=byte_size(data.at_bytes))
    show_table(_owners(data.owners, lang), Owner, lang, _MOST)
    _table(data.categories, "report.memory_categories", lang)
    _table(data.lifetimes, "report.memory_lifetimes", lang)
    difference = data.step_difference
    if difference is not None:
        say(
            "report.memory_difference",
            step=difference.step,
            base=difference.base_step,
            delta=byte_size(difference.delta_bytes),
            net=byte_size(difference.net_delta_bytes),
            same=difference.same_sites,
        )
        _table(difference.sites, None, lang, _DIFFERENCE)
    used = [peak for peak in data.peaks if peak.peak_bytes or peak.reserved_peak_bytes]
    _table(used, "report.memory_peaks", lang, _PEAK)


def _space(data: Memory) -> tuple[int, str, str]:
    return data.rank, data.device, data.component


def _sizes(failure: OutOfMemory) -> dict[str, str]:
    return {
        "requested": byte_size(failure.requested_bytes),
        "free": byte_size(failure.pool_free_bytes),
        "device_free": byte_size(failure.device_free_bytes),
        "others": byte_size(failure.others_bytes),
    }


def _show_fragmentation(data: Memory, console: Console, lang: str) -> None:
    parts = data.fragmentation
    if parts is None:
        return
    line = text(
        "report.memory_idle",
        lang,
        idle=byte_size(parts.peak_idle_bytes),
        share=f"{100 * parts.peak_idle_share:.1f}",
        reserved=byte_size(parts.peak_reserved_bytes),
    )
    console.print(line, markup=False, soft_wrap=True)
    if parts.growths:
        line = text("report.memory_growths", lang, growths=parts.growths, rooms=parts.growths_with_room)
        console.print(line, markup=False, soft_wrap=True)
    if parts.largest_free_bytes is not None:
        sizes = {"largest": byte_size(parts.largest_free_bytes), "free": byte_size(parts.free_bytes)}
        line = text("report.memory_external", lang, runs=parts.free_runs, **sizes)
        console.print(line, markup=False, soft_wrap=True)


def _owners(owners: list[Owner], lang: str) -> pl.DataFrame:
    rows = [
        {
            "owner": owner.owner if owner.blocks is not None else text(f"memory_owner.{owner.kind}", lang),
            "category": owner.category,
            "confidence": owner.confidence,
            "blocks": owner.blocks,
            "bytes": owner.bytes,
            "share": owner.share,
            "saving_bytes": owner.saving_bytes,
        }
        for owner in owners
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _table(
    rows: Sequence[msgspec.Struct],
    title: str | None,
    lang: str,
    columns: tuple[str, ...] | None = None,
) -> None:
    if rows:
        show_table(frame_of(rows, columns), type(rows[0]), lang, _MOST, None if title is None else text(title, lang))
