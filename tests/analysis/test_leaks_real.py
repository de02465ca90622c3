"""Leaks of real runs: a training on this CPU with 16 known sites, and a CUDA snapshot of a known program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from analysis import leaking_training
from stepscope.analysis.leaks import Leaks, leaks
from support.limits import HANGS_AFTER_S

pytest.importorskip("torch")
# Steps and unrecorded ones before them, and what the number of steps allows to say.
_RUNS = {"12-0": "likely", "20-0": "confirmed", "12-4": "likely", "24-4": "confirmed"}
_SITES = (*leaking_training.LEAKS, *leaking_training.NOT_LEAKS)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one trace per run; one process makes them all."""
    directory = tmp_path_factory.mktemp("traces")
    command = [sys.executable, str(Path(leaking_training.__file__)), str(directory), *_RUNS]
    done = subprocess.run(command, capture_output=True, check=False, timeout=HANGS_AFTER_S)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return directory


def _leaking(found: Leaks) -> set[str]:
    """Functions of which any site leaks; each function is a site of the truth."""
    flagged = {site.site for site in found.sites if site.verdict == "leak"}
    return {name for name in _SITES if any(name in label for label in flagged)}


@pytest.mark.torch
@pytest.mark.parametrize(("run", "confidence"), _RUNS.items())
def test_all_sites_of_a_real_training_are_reported(traces: Path, run: str, confidence: str) -> None:
    answer = leaks(stepscope.load(traces / f"{run}.json", progress=False).store)
    found, notes = answer.data, answer.notes
    assert _leaking(found) == set(leaking_training.LEAKS)
    assert {site.confidence for site in found.sites} == {confidence}
    assert ("leaks_more_steps" in [note.code for note in notes]) == (confidence != "confirmed")
    rates = dict.fromkeys(leaking_training.LEAKS, 0.0)
    for site in found.sites:
        for name in rates:
            if site.verdict == "leak" and name in site.site:
                rates[name] += site.bytes_per_step
    expected = {
        "leak_append": 400_000,
        "leak_small": 256,
        "leak_every_third": 200_000 / 3,
        "leak_kept_loss": 4,
        "leak_cycle": 80_000,
        "leak_growing_buffer": 20_000,
        "leak_kept_graph": 65_536 + 4,
    }
    assert rates == pytest.approx(expected, rel=0.1)
    graph = [entry.where for entry in found.graphs]
    assert any("leak_kept_graph" in where for where in graph)
    (pool,) = found.pools
    assert pool.verdict == "leak"
    assert abs(pool.unexplained_bytes_per_step) < 0.1 * pool.bytes_per_step


def test_a_snapshots_leak_is_told_from_cache_ring_and_state(shared_data: Path) -> None:
    path = shared_data / "memory" / "cuda_snapshot_expandable.pickle"
    found = leaks(stepscope.load(path, progress=False).store).data
    (leak,) = [site for site in found.sites if site.verdict == "leak"]
    # 4,000,004 bytes a step, which the allocator rounds up to 512.
    assert (leak.confidence, leak.bytes_per_step, leak.blocks) == ("suspect", 4_000_256.0, 8)
    assert [birth.step for birth in leak.births] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert leak.site.startswith("g.py(12): step")
    others = {(site.site, site.reason): site for site in found.sites if site.verdict == "not_leak"}
    cache = others["g.py(14): step > g.py(8): E", "saturated"]
    assert (cache.blocks, cache.bytes_at_end) == (4, 4 * 3_000_320)
    ring = others["g.py(13): step > g.py(8): E", "replaced"]
    assert (ring.blocks, ring.first_step) == (3, 6)
    workspace = others["(no stack) 32 MiB", "warm_up"]
    assert workspace.first_step == 1
    older = [site for site in found.sites if site.reason == "before_window"]
    assert sum(site.blocks for site in older) == 6
    # The in-step rule of msleaks would have accused all three.
    assert min(leak.in_step_blocks, ring.in_step_blocks, cache.in_step_blocks) > 0
