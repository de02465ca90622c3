"""Pictures of findings about memory: the curve with the moment in question, or what a leaking place holds."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from analysis.leak_patterns import append, generate
from analysis.stores import make_store
from diagnosis.cases import loop
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.pictures.memory import memory_pictures
from stepscope.diagnosis.pictures.timeline import pictures_of


def test_a_failed_request_is_marked_on_the_curve_which_keeps_its_highest_points(tmp_path: Path) -> None:
    sizes = [100] * 3000
    sizes[1234] = 900
    curve = [
        {"device": "cuda:0", "component": "caching allocator", "time_ns": 50 + at, "allocated": size, "reserved": 1000}
        for at, size in enumerate(sizes)
    ]
    failed = [{"device": "cuda:0", "time_ns": 2050, "kind": "oom", "bytes": 1 << 30, "free_bytes": 0}]
    store = make_store(tmp_path, memory=curve, memory_events=failed)
    findings = work_out(store).findings
    (picture,) = memory_pictures(store, findings)
    assert (picture.finding, picture.device, picture.moment_ns) == (findings[0].id, "cuda:0", 2000)
    assert len(picture.time_ns) <= 241
    assert max(picture.allocated_bytes) == 900
    assert picture.time_ns[picture.allocated_bytes.index(900)] == 1234
    assert picture.time_ns[-1] == 2999
    assert set(picture.reserved_bytes or []) == {1000}
    assert pictures_of(store, findings) == []


def test_a_leak_shows_what_its_blocks_hold_by_the_step_they_were_born_in(tmp_path: Path) -> None:
    made = generate(1, 14, 1, (append,))
    store = make_store(tmp_path, allocations=made.allocations, stacks=made.stacks, steps=made.steps)
    (picture,) = memory_pictures(store, work_out(store).findings)
    kept = pl.DataFrame(made.allocations).filter(pl.col("free_ns").is_null())
    assert picture.allocated_bytes[-1] == kept["bytes"].sum()
    assert picture.allocated_bytes == sorted(picture.allocated_bytes)
    assert picture.steps == sorted(set(picture.steps)) and len(picture.steps) == len(picture.allocated_bytes)


def test_what_the_timeline_proves_has_no_curve(tmp_path: Path) -> None:
    store = loop(40).store(tmp_path)
    findings = work_out(store).findings
    assert findings and memory_pictures(store, findings) == []
    assert {picture.finding for picture in pictures_of(store, findings)} == {findings[0].id}
