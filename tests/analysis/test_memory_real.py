"""Memory of real captures, against what the files themselves say when read by other means."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis.memory import memory
from stepscope.analysis.memory.sites import sites_of
from stepscope.store.run_store import RunStore
from support.samples import open_sample


def test_a_snapshots_peak_equals_a_replay_of_its_file(shared_data: Path) -> None:
    path = shared_data / "memory" / "cuda_snapshot_expandable.pickle"
    found = memory(stepscope.load(path, progress=False).store).data
    snapshot = pickle.loads(path.read_bytes())
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    alive = {block["address"]: block["size"] for block in blocks if block["state"] == "active_allocated"}
    born = {event["addr"] for event in snapshot["device_traces"][0] if event["action"] == "alloc"}
    older = {address: size for address, size in alive.items() if address not in born}
    live, highest, there = dict(older), 0, {}
    for event in snapshot["device_traces"][0]:
        if event["action"] == "alloc":
            live[event["addr"]] = -(-event["size"] // 512) * 512  # expandable segments split to the next 512 bytes
        elif event["action"] == "free_completed":
            del live[event["addr"]]
        if sum(live.values()) > highest:
            highest, there = sum(live.values()), dict(live)
    assert live == alive
    assert (found.peak_bytes, found.peak_step) == (highest, 8)
    assert sum(owner.bytes for owner in found.owners) == highest
    assert sum(owner.blocks or 0 for owner in found.owners) == len(there)
    assert (
        sum(owner.bytes for owner in found.owners if owner.kind == "before_window") == sum(older.values()) == 10580480
    )


def test_a_snapshots_fragmentation_and_failure_are_as_measured(shared_data: Path) -> None:
    path = shared_data / "memory" / "cuda_snapshot_expandable.pickle"
    data = memory(stepscope.load(path, progress=False).store).data
    found = data.fragmentation
    assert found is not None
    # Reserved, active and requested bytes of this file, and the shares made of them by hand.
    assert (found.end_reserved_bytes, found.end_active_bytes, found.end_requested_bytes) == (
        169869312,
        154180096,
        154173788,
    )
    assert found.idle_share == pytest.approx(0.092, abs=5e-4)
    assert found.rounding_share == pytest.approx(0.00004, abs=5e-6)
    assert found.external_share == pytest.approx(0.272, abs=5e-4)
    (failure,) = data.out_of_memory
    assert (failure.requested_bytes, failure.cause) == (8 << 40, "shortage")


def test_a_snapshots_categories_are_what_its_program_made(shared_data: Path) -> None:
    path = shared_data / "memory" / "cuda_snapshot_expandable.pickle"
    data = memory(stepscope.load(path, progress=False).store).data
    sizes = {part.category: part.bytes for part in data.categories if part.category != "other"}
    # Two Adam moments of each parameter; cuBLAS workspaces of forward and backward, and cuBLASLt's.
    parameters = 8388608 + 81920 + 8192 + 512
    steps_of_adam = 4 * 512
    assert sizes["optimizer"] in (2 * parameters, 2 * parameters + steps_of_adam)
    assert sizes["gradients"] == parameters
    assert sizes["workspace"] == 2 * 33554432 + 1048576


def _memory_events(path: Path) -> list[dict[str, Any]]:
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    found = [event for event in events if event.get("name") == "[memory]" and event["args"]["Device Type"] == 1]
    return sorted(found, key=lambda event: float(event["ts"]))


def test_a_gpu_traces_peak_and_its_blocks_equal_those_of_the_file(shared_data: Path) -> None:
    path = shared_data / "kineto" / "gpt_stack.json.gz"
    found = memory(stepscope.load(path, progress=False).store).data
    alive: dict[int, int] = {}
    highest, recorded = 0, 0
    for event in _memory_events(path):
        size, address = event["args"]["Bytes"], event["args"]["Addr"]
        if size > 0:
            alive[address] = size
        else:
            alive.pop(address, None)
        if event["args"]["Total Allocated"] > highest:
            highest, recorded = event["args"]["Total Allocated"], sum(alive.values())
    assert (found.device, found.peak_bytes) == ("cuda:0", highest)
    assert sum(owner.bytes for owner in found.owners if owner.kind == "recorded") == recorded
    assert sum(owner.bytes for owner in found.owners) == highest
    older = [owner for owner in found.owners if owner.kind.startswith("before_window")]
    assert sum(owner.bytes for owner in older) == highest - recorded


def test_an_npus_peaks_equal_the_vendors_record(shared_data: Path) -> None:
    capture, rank = shared_data / "ascend" / "text_level1", 1
    store = stepscope.load(capture, progress=False).store
    found = memory(store, ranks=[rank]).data
    table = capture / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "memory_record.csv"
    peaks: dict[str, float] = {}
    for row in csv.DictReader(table.read_text("utf-8").splitlines()):
        value = float(row["Total Allocated(MB)"] or row["Total Reserved(MB)"])
        peaks[row["Component"]] = max(peaks.get(row["Component"], 0.0), value)
    ours = {peak.component: peak.peak_bytes for peak in found.peaks}
    assert {name: ours[name] for name in peaks} == {name: round(value * (1 << 20)) for name, value in peaks.items()}
    assert found.component == "PTA+GE"
    _adds_up_at_all_times(store)


@pytest.mark.parametrize("capture", ["kineto/gpt_stack.json.gz", "memory"])
def test_owners_add_up_at_every_moment_of_a_real_capture(shared_data: Path, capture: str) -> None:
    _adds_up_at_all_times(open_sample(shared_data / capture).store)


def _adds_up_at_all_times(store: RunStore) -> None:
    found = memory(store).data
    assert sum(owner.bytes for owner in found.owners) == found.peak_bytes
    times = sorted({time for line in found.curves for time in line.time_ns})
    for time in times[:: max(len(times) // 12, 1)]:
        there = memory(store, at_ns=time).data
        assert sum(owner.bytes for owner in there.owners) == there.at_bytes
        assert sum(part.bytes for part in there.categories) == there.at_bytes


def test_what_ascend_holds_unused_is_what_its_records_say(shared_data: Path) -> None:
    capture = shared_data / "ascend" / "text_level1"
    found = memory(stepscope.load(capture, progress=False).store, ranks=[0]).data
    table = capture / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "memory_record.csv"
    rows = csv.DictReader(table.read_text("utf-8").splitlines())
    totals = [row for row in rows if row["Component"] == "PTA+GE"]
    highest = max(totals, key=lambda row: float(row["Total Allocated(MB)"]))
    idle = float(highest["Total Reserved(MB)"]) - float(highest["Total Allocated(MB)"])
    assert found.fragmentation is not None
    assert found.fragmentation.peak_idle_bytes / 2**20 == pytest.approx(idle, abs=1e-3)


def test_one_line_of_python_is_one_site_whatever_cpp_frames_lie_inside_it(shared_data: Path) -> None:
    path = shared_data / "memory" / "gpt_fp32_snap.snapshot.pickle"
    (trace,) = [events for events in pickle.loads(path.read_bytes())["device_traces"] if events]
    lines = set()
    for event in trace:
        own = [frame for frame in event["frames"] if frame["filename"].endswith("/gpu_trace.py")]
        if event["action"] == "alloc" and own:
            lines.add(f"gpu_trace.py({own[0]['line']}): {own[0]['name']}")  # innermost first
    store = stepscope.load(path, progress=False).store
    blocks = store.scan("allocations").collect()
    numbers, sites = sites_of(store, 0, blocks)
    named = [label.rpartition(" > ")[2] for label in sites["label"] if "gpu_trace.py" in label]
    assert set(named) == lines
    assert len(named) == len(lines)  # each line is called in one way only
    assert not [label for label in sites["label"] if "c10::" in label]
    assert len(numbers) == len(blocks)
