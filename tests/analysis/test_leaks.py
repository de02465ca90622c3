"""Leaks by hand: verdicts and reasons, what is missing in the data, several ranks, and twins of the sums behind it."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.leaks import Leaks, leaks
from stepscope.analysis.leaks.growth import grows
from stepscope.analysis.leaks.levels import levels
from stepscope.analysis.leaks.trend import cache_evidence, largest_fall, median_slope, r_squared
from stepscope.analysis.memory.blocks import ordered
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.errors import NoAnswerError
from stepscope.report import leaks as report
from stepscope.store.run_store import RunStore
from stepscope.texts import catalogue

Row = dict[str, Any]
_MS = 1_000_000


def _block(step: int, last: int | None, size: int, **more: Any) -> Row:
    free = None if last is None else last * _MS + 900_000
    known: Row = {"device": "cuda:0", "bytes": size, "alloc_ns": step * _MS + 500_000, "free_ns": free, "stack": 0}
    return known | {"before_window": False, "lost_free": False, "operator": "aten::empty"} | more


def _steps(count: int, **more: Any) -> list[Row]:
    return [
        {"step": n, "host_start_ns": n * _MS, "host_end_ns": (n + 1) * _MS, "marks_from": "profiler_step"} | more
        for n in range(count)
    ]


def _store(directory: Path, blocks: list[Row], *, count: int = 20, **tables: Any) -> RunStore:
    stacks = [
        {"stack": number, "frames": f"job.py(1): <module>\njob.py({number + 10}): f{number}", "rank": rank}
        for number in range(9)
        for rank in sorted({block.get("rank", 0) for block in blocks})
    ]
    return make_store(directory, **({"allocations": blocks, "stacks": stacks, "steps": _steps(count)} | tables))


def _only(store: RunStore) -> tuple[str, str, str]:
    (site,) = leaks(store).data.sites
    return site.verdict, site.confidence, site.reason


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([(n, None, 8) for n in range(20)], ("leak", "confirmed", "kept")),
        ([(n, None, 8) for n in range(8, 20)], ("leak", "likely", "kept_late")),
        ([(n, n + 1 if n < 19 else None, 8 + n) for n in range(20)], ("leak", "confirmed", "replaced_by_larger")),
        ([(n, n, 8) for n in range(20)], ("not_leak", "confirmed", "freed_in_step")),
        ([(0, 1, 8)], ("not_leak", "confirmed", "freed_after_warm_up")),
        ([(0, None, 8), (1, None, 8)], ("not_leak", "confirmed", "warm_up")),
        ([(9, None, 8)], ("not_leak", "confirmed", "one_off")),
        ([(n, None, 8) for n in range(7)], ("not_leak", "confirmed", "saturated")),
        ([(n, None, 8) for n in (3, 9, 17)], ("not_leak", "confirmed", "rare")),
        ([(n, None, 8 * n) for n in (2, 3, 4, 5, 6, 9, 13, 18)], ("not_leak", "confirmed", "slowing")),
        ([(n, None, 8) for n in range(17, 20)], ("not_leak", "confirmed", "too_recent")),
        ([(n, n + 3 if n < 17 else None, 8) for n in range(20)], ("not_leak", "confirmed", "replaced")),
        ([(n, n // 5 * 5 + 5 if n < 15 else None, 8) for n in range(20)], ("not_leak", "confirmed", "sawtooth")),
    ],
)
def test_a_verdict_has_its_reason(
    tmp_path: Path, blocks: list[tuple[int, int | None, int]], expected: tuple[str, str, str]
) -> None:
    store = _store(tmp_path, [_block(*block) for block in blocks])
    assert _only(store) == expected
    (site,) = leaks(store).data.sites
    assert all(report.reason(site, lang) for lang in ("en", "zh"))


@pytest.mark.parametrize(("track", "device"), [("host", "cpu"), ("host", "cuda:0"), ("stream", "cpu")])
@pytest.mark.parametrize(("a_step", "few_stay"), [(2, False), (5, True)])
def test_a_release_that_a_communicating_thread_hides_is_no_leak(
    tmp_path: Path, track: str, device: str, a_step: int, few_stay: bool
) -> None:
    """Of each step's blocks one has no release. That is no leak where gloo runs on the host and few blocks stay."""
    blocks = [
        _block(step, None if number == 0 else step, 8, device=device) for step in range(20) for number in range(a_step)
    ]
    call = {"slice": 0, "track": 0, "kind": "collective", "name": "gloo:all_reduce", "start_ns": 5, "dur_ns": 5}
    store = _store(
        tmp_path,
        blocks,
        slices=[call],
        tracks=[{"track": 0, "kind": track, "name": "Thread 1"}],
        collectives=[{"slice": 0, "kind": "all_reduce", "name": "gloo:all_reduce", "start_ns": 5, "end_ns": 10}],
    )
    hides = (track, device) == ("host", "cpu") and few_stay
    expected = ("not_leak", "confirmed", "frees_hidden") if hides else ("leak", "confirmed", "kept")
    assert _only(store) == expected


def test_what_is_kept_while_more_goes_is_no_growth(tmp_path: Path) -> None:
    # 8 bytes stay of each step, but the buffer beside them is made smaller each time, by 20.
    blocks = [_block(n, None, 8) for n in range(20)]
    blocks += [_block(n, n + 1 if n < 19 else None, 1000 - 20 * n) for n in range(20)]
    assert _only(_store(tmp_path, blocks)) == ("not_leak", "confirmed", "flat")


def test_every_reason_has_its_case() -> None:
    told = {"kept", "kept_late", "replaced_by_larger", "freed_in_step", "freed_after_warm_up", "warm_up", "one_off"}
    told |= {
        "saturated",
        "rare",
        "slowing",
        "too_recent",
        "replaced",
        "sawtooth",
        "flat",
        "before_window",
        "frees_hidden",
    }
    assert set(catalogue()["leak_reason"]) == told | {"curve_grows", "curve_does_not_grow", "held_by_recorder"}


def test_sites_are_told_apart_by_frames_operator_and_pool(tmp_path: Path) -> None:
    leak = [_block(n, None, 8, stack=1, operator="aten::cat") for n in range(20)]
    same_frames = [_block(n, n, 8, stack=1) for n in range(20)]
    other_frames = [_block(n, n + 1 if n < 19 else None, 8, stack=2, operator="aten::cat") for n in range(20)]
    found = leaks(_store(tmp_path, leak + same_frames + other_frames)).data
    assert {(site.site, site.verdict) for site in found.sites} == {
        ("job.py(1): <module> > job.py(11): f1 [aten::cat]", "leak"),
        ("job.py(1): <module> > job.py(11): f1 [aten::empty]", "not_leak"),
        ("job.py(1): <module> > job.py(12): f2 [aten::cat]", "not_leak"),
    }


def test_frames_of_libraries_and_addresses_do_not_split_a_site(tmp_path: Path) -> None:
    inner = "/env/lib/python3.11/site-packages/torch/nn/functional.py(9): linear"
    stacks = [
        {"stack": n, "frames": f"job.py(3): step\nnn.Module: Linear_{n}\n{inner}\n<built-in method linear at 0x{n:x}>"}
        for n in range(20)
    ]
    blocks = [_block(n, None, 8, stack=n) for n in range(20)]
    found = leaks(make_store(tmp_path, allocations=blocks, stacks=stacks, steps=_steps(20))).data
    assert [(site.site, site.verdict) for site in found.sites] == [("job.py(3): step [aten::empty]", "leak")]


def test_a_kept_output_is_shown_as_one_graph(tmp_path: Path) -> None:
    frames = [
        "job.py(3): step\nnn.Module: Net_0\nnn.Module: A_0",
        "job.py(3): step\nnn.Module: Net_0",
        "job.py(7): log",
    ]
    stacks = [{"stack": number, "frames": frame} for number, frame in enumerate(frames)]
    blocks = [
        _block(n, None, size, stack=stack, operator=operator)
        for n in range(20)
        for size, stack, operator in ((64, 0, "aten::mm"), (32, 1, "aten::tanh"), (8, 2, "aten::item"))
    ]
    found = leaks(make_store(tmp_path, allocations=blocks, stacks=stacks, steps=_steps(20))).data
    (graph,) = found.graphs
    assert (graph.sites, graph.where, graph.bytes_per_step) == (2, "job.py(3): step", 96.0)
    assert {site.operator for site in found.sites if site.graph == graph.graph} == {"aten::mm", "aten::tanh"}


def test_without_stacks_operator_and_size_are_the_site_and_it_is_noted(tmp_path: Path) -> None:
    blocks = [_block(n, None, 8, stack=None) for n in range(20)]
    blocks += [_block(n, n + 1 if n < 19 else None, 64, stack=None) for n in range(20)]
    answer = leaks(_store(tmp_path, blocks))
    assert {(site.site, site.verdict) for site in answer.data.sites} == {
        ("aten::empty 8 B", "leak"),
        ("aten::empty 64 B", "not_leak"),
    }
    assert [note.code for note in answer.notes] == ["leaks_without_stacks"]


def test_a_growing_buffer_without_stacks_is_found_by_its_operator(tmp_path: Path) -> None:
    blocks = [_block(n, n + 1 if n < 19 else None, 1000 + 100 * n, stack=None, operator="aten::cat") for n in range(20)]
    found = leaks(_store(tmp_path, blocks)).data
    assert [(site.site, site.reason, site.bytes_per_step) for site in found.sites if site.verdict == "leak"] == [
        ("aten::cat", "replaced_by_larger", 100.0)
    ]


def test_older_blocks_are_no_leak(tmp_path: Path) -> None:
    blocks = [_block(n, None, 8) for n in range(20)]
    blocks.append(_block(0, None, 500, alloc_ns=None, before_window=True, stack=None, operator=None))
    found = leaks(_store(tmp_path, blocks)).data
    assert {(site.reason, site.bytes_at_end, site.blocks) for site in found.sites} == {
        ("kept", 160, 20),
        ("before_window", 500, 1),
    }


def test_what_the_system_says_of_process_and_machine_is_weak_evidence(tmp_path: Path) -> None:
    """While a profiler records, its events grow in the same process; the machine's memory is everybody's."""
    rows = [
        {"device": "cpu", "component": name, "time_ns": n * _MS + 5, "allocated": 1000 + 50 * n}
        for n in range(30)
        for name in ("process", "machine")
    ]
    sites = leaks(make_store(tmp_path, memory=rows, steps=_steps(30))).data.sites
    assert [(site.site, site.verdict, site.confidence) for site in sites] == [("process", "leak", "suspect")]


@pytest.mark.parametrize(
    ("events", "pages", "verdict", "reason"),
    [
        (1, None, "leak", "curve_grows"),
        (60, None, "not_leak", "held_by_recorder"),
        (60, 10**7, "leak", "curve_grows"),  # of its own blocks a recorder's are few
        (100, 10**7, "not_leak", "held_by_recorder"),
    ],
)
def test_what_the_recorder_may_hold_is_no_leak_of_the_process(
    events: int, pages: int | None, verdict: str, reason: str, tmp_path: Path
) -> None:
    """27 steps after the warm-up, 8,000 bytes each: 3,600 for each of sixty events, 2,160 for each of a hundred."""
    rows = [
        {"device": "cpu", "component": name, "time_ns": n * _MS + 5, "allocated": 10**6 + 8000 * n, "reserved": pages}
        for n in range(30)
        for name in ("process", "MindSpore")
    ]
    recorded = [{"slice": n, "track": 1, "start_ns": n, "dur_ns": 1, "kind": "operator"} for n in range(events)]
    sites = leaks(make_store(tmp_path, memory=rows, steps=_steps(30), slices=recorded)).data.sites
    judged = {site.site: (site.verdict, site.reason) for site in sites}
    assert judged == {"MindSpore": ("leak", "curve_grows"), "process": (verdict, reason)}


def test_a_curve_that_rises_by_nothing_in_most_steps_is_no_leak(tmp_path: Path) -> None:
    pages = [1, 1, 2, 2, 2, 2, 2, 2, 3]
    rows = [
        {"device": "cpu", "component": "workers", "time_ns": n * _MS + 5, "allocated": 4096 * pages[n]}
        for n in range(len(pages))
    ]
    (site,) = leaks(make_store(tmp_path, memory=rows, steps=_steps(len(pages)))).data.sites
    assert (site.verdict, site.bytes_per_step) == ("not_leak", 0)


def test_a_curve_alone_is_judged_as_a_whole(tmp_path: Path) -> None:
    rows = [
        {"device": "cpu", "component": name, "time_ns": n * _MS + 5, "allocated": size, "reserved": size}
        for n in range(20)
        for name, size in (("MindSpore", 1000 + 50 * n), ("quiet", 1000 + n % 3))
    ]
    answer = leaks(make_store(tmp_path, memory=rows, steps=_steps(20)))
    assert {(site.site, site.verdict, site.reason) for site in answer.data.sites} == {
        ("MindSpore", "leak", "curve_grows"),
        ("quiet", "not_leak", "curve_does_not_grow"),
    }
    assert [note.params["component"] for note in answer.notes if note.code == "leaks_without_blocks"] == [
        "MindSpore",
        "quiet",
    ]


def test_growth_of_what_is_only_held_is_no_leak_of_tensors(tmp_path: Path) -> None:
    blocks = [_block(n, n, 8) for n in range(20)]
    rows = [
        {"device": "cuda:0", "component": "pool", "time_ns": n * _MS + 1, "allocated": 100, "reserved": 1000 + 64 * n}
        for n in range(20)
    ]
    found = leaks(_store(tmp_path, blocks, memory=rows)).data
    (pool,) = found.pools
    assert (pool.verdict, pool.bytes_per_step, pool.reserved_bytes_per_step) == ("reserved_growth", 0.0, 64.0)
    assert {site.verdict for site in found.sites} == {"not_leak"}


def test_growth_that_no_site_explains_is_reported(tmp_path: Path) -> None:
    blocks = [_block(n, n, 8) for n in range(20)]
    rows = [
        {"device": "cuda:0", "component": "pool", "time_ns": n * _MS + 1, "allocated": 100 + 10 * n} for n in range(20)
    ]
    (pool,) = leaks(_store(tmp_path, blocks, memory=rows)).data.pools
    assert (pool.verdict, pool.unexplained_bytes_per_step) == ("unexplained_growth", 10.0)


def test_few_steps_say_nothing_rather_than_no_leak(tmp_path: Path) -> None:
    blocks = [_block(n, None, 8) for n in range(4)]
    with pytest.raises(NoAnswerError, match="does not mean") as raised:
        leaks(_store(tmp_path, blocks, count=4))
    assert "4" in raised.value.message("zh")


def test_an_incomplete_last_step_does_not_count(tmp_path: Path) -> None:
    blocks = [_block(n, None, 8) for n in range(6)]
    marks = _steps(6)
    whole = leaks(_store(tmp_path / "whole", blocks, steps=marks)).data.sites[0]
    marks[-1]["incomplete"] = True
    cut = leaks(_store(tmp_path / "cut", blocks, steps=marks)).data.sites[0]
    assert (whole.intervals, whole.blocks) == (4, 6)
    assert (cut.intervals, cut.blocks) == (3, 5)


def test_no_memory_says_which_switch_records_it(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="profile_memory=True"):
        leaks(make_store(tmp_path, steps=_steps(20)))


def test_ranks_with_the_same_leak_are_named(tmp_path: Path) -> None:
    blocks = [_block(n, None, 8, rank=rank) for n in range(20) for rank in (0, 1)]
    blocks += [_block(n, None if rank == 1 else n, 8, rank=rank, stack=3) for n in range(20) for rank in (0, 1)]
    marks = pl.DataFrame(_steps(20) + _steps(20)).with_columns(rank=pl.Series([0] * 20 + [1] * 20))
    answer = leaks(_store(tmp_path, blocks, steps=marks))
    found = {(site.rank, site.site.split(" > ")[1]): site.leaking_ranks for site in answer.data.sites}
    assert found[0, "job.py(10): f0 [aten::empty]"] == [0, 1]
    assert found[1, "job.py(13): f3 [aten::empty]"] == [1]
    msgspec.convert(answer.plain(), Leaks)


def test_steps_until_the_device_is_full(tmp_path: Path) -> None:
    blocks = [_block(n, None, 100) for n in range(20)]
    ranks = [{"rank": 0, "memory_capacity": 5000}]
    (site,) = leaks(_store(tmp_path, blocks, ranks=ranks)).data.sites
    assert site.steps_to_oom == (5000 - 2000) // 100
    assert (site.first_step, site.oldest_age_steps, site.growth_bytes) == (0, 19, 1800)


@pytest.mark.parametrize("seed", range(10))
def test_levels_equal_a_count_block_by_block(seed: int) -> None:
    chance = random.Random(seed)
    count, steps = 200, 9
    born = [chance.randrange(-1, steps * _MS) for _ in range(count)]
    rows = [
        _block(0, 0, chance.randint(1, 9), alloc_ns=b if b >= 0 else None, before_window=b < 0)
        | {"free_ns": chance.choice([None, chance.randint(max(b, 0), 10 * _MS)]), "alloc_seq": None, "free_seq": None}
        for b in born
    ]
    site = np.array([chance.randrange(5) for _ in range(count)])
    ends = np.arange(1, steps + 1) * _MS
    found = levels(
        ordered(pl.DataFrame(rows, infer_schema_length=None)), site, StepWindows(ends // _MS, ends - _MS, ends)
    )
    for place, number in enumerate(found.sites.tolist()):
        own = [row for row, its in zip(rows, site, strict=True) if its == number and not row["before_window"]]
        for k, end in enumerate(ends.tolist()):
            alive = [row for row in own if row["alloc_ns"] < end and (row["free_ns"] is None or row["free_ns"] >= end)]
            assert found.held[place, k] == sum(row["bytes"] for row in alive)
            last = [
                row
                for row in own
                if end - _MS <= row["alloc_ns"] < end and (row["free_ns"] is None or row["free_ns"] >= ends[-1])
            ]
            assert (found.kept[place, k], found.kept_blocks[place, k]) == (sum(r["bytes"] for r in last), len(last))


@pytest.mark.parametrize("seed", range(10))
def test_trends_equal_their_definitions(seed: int) -> None:
    chance = random.Random(seed)
    values = [chance.randint(0, 999) for _ in range(chance.randint(3, 40))]
    array = np.array(values)
    pairs = [(values[j] - values[i]) / (j - i) for j in range(len(values)) for i in range(j)]
    assert median_slope(array) == pytest.approx(float(np.median(pairs)))
    assert largest_fall(array) == max(max(values[: k + 1]) - values[k] for k in range(len(values)))
    line = np.polyfit(range(len(values)), values, 1)
    rest = sum((value - np.polyval(line, k)) ** 2 for k, value in enumerate(values))
    whole = sum((value - np.mean(values)) ** 2 for value in values)
    assert r_squared(array) == pytest.approx(1 - rest / whole)


def test_the_evidence_for_a_cache_equals_its_likelihood() -> None:
    births = [True, True, False, True, False, False]
    best = -math.inf
    for keys in range(4, 2000):
        known, total = 1, 0.0
        for born in births:
            chance = 1 - known / keys if born else known / keys
            total += math.log(chance) if chance > 0 else -math.inf
            known += born
        best = max(best, total)
    assert cache_evidence(np.array(births), 1) == pytest.approx(best - 6 * math.log(0.5), abs=1e-9)
    assert cache_evidence(np.array([True] * 10), 2) <= 0  # a birth in every step is no sign of a cache


def test_a_line_that_falls_or_pauses_does_not_grow() -> None:
    assert grows(np.arange(20))
    assert not grows(np.array([0, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6]))
    assert not grows(np.array([0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9]))
    assert not grows(np.array([5, 5, 5, 5]))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_terminal_names_the_worst_site_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lang: str
) -> None:
    blocks = [_block(n, None, 3 << 20) for n in range(20)] + [_block(1, None, 1 << 20, stack=4)]
    report.show(leaks(_store(tmp_path, blocks)), lang)
    shown = capsys.readouterr().out
    assert "job.py(10): f0" in shown
    assert "3.00" in shown  # MiB per step
    assert ("never freed" in shown) == (lang == "en")
