"""What snapshots of all versions and devices hold."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readers.memory_snapshot.opened_snapshots import A, Read, small
from readers.memory_snapshot_builder import MB, Allocator, annotation, block, event, frame, freed, segment
from stepscope.errors import UnreadableInputError
from stepscope.texts import text


def test_an_npu_snapshot_without_times_keeps_the_order(read: Callable[..., Read]) -> None:
    trace = [event("alloc", A, 512), event("alloc", A + 1024, 1000), *freed(A, 512)]
    state = small(
        block(A, 1024, "inactive"), block(A + 1024, 1536, requested=1000), block(A + 2560, 1024, requested=512)
    )
    found = read({"segments": [state], "device_traces": [trace]})
    rows = {(row["address"], row["before_window"]): row for row in found.rows("allocations")}
    # 512 + 32 bytes need two units of 512; the block behind was there before.
    assert rows[A, False]["bytes"] == 1024
    assert (rows[A, False]["alloc_ns"], rows[A, False]["free_ns"]) == (0, 3000)
    assert rows[A + 2560, True]["alloc_ns"] is None
    assert {row["device"] for row in found.rows("allocations")} == {"npu:0"}
    assert found.rows("ranks")[0]["device_kind"] == "npu"
    assert json.loads(found.rows("ranks")[0]["switches"])["clock"] == "order"
    assert found.notes["snapshot_without_times"] == 4


def test_a_list_of_segments_as_old_versions_wrote_it(read: Callable[..., Read]) -> None:
    history = [{"addr": A, "real_size": 300, "frames": [frame("f", 1)]}]
    blocks = [
        {"size": 512, "state": "active_allocated", "history": history},
        {"size": 1024, "state": "inactive"},
        {"size": 512, "state": "active_pending_free"},
    ]
    found = read(
        [{"device": 1, "address": A, "total_size": 2 * MB, "stream": 5, "segment_type": "small", "blocks": blocks}]
    )
    rows = found.rows("allocations")
    assert [(row["address"], row["bytes"], row["requested_bytes"]) for row in rows] == [
        (A, 512, 300),
        (A + 1536, 512, 512),
    ]
    assert all(row["before_window"] and row["device"] == "cuda:1" and row["stream"] == 5 for row in rows)
    assert rows[0]["operator"] == "train.py(1): f"
    only = found.rows("memory")
    assert [(row["allocated"], row["reserved"], row["active"]) for row in only] == [(512, 2 * MB, 1024)]
    assert found.rows("segments")[0]["allocated_bytes"] == 512
    assert found.notes == {"snapshot_without_history": 1}


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_gives_the_same_tables(protocol: int, read: Callable[..., Read], tmp_path: Path) -> None:
    allocator = Allocator(1)
    allocator.recording = True
    allocator.run(50)
    content = allocator.snapshot()
    expected, found = read(content, "a.pickle"), read(content, "b.pickle", protocol)
    for table in ("allocations", "memory", "segments"):
        assert found.tables[table].equals(expected.tables[table])


def test_a_compressed_snapshot_is_read_alike(read: Callable[..., Read], tmp_path: Path) -> None:
    content = {"segments": [small(block(A, 512))], "device_traces": [[event("alloc", A, 512, 5)]]}
    path = tmp_path / "s.pickle.gz"
    path.write_bytes(gzip.compress(pickle.dumps(content)))
    assert read(path).tables["allocations"].equals(read(content).tables["allocations"])


def test_a_compressed_snapshot_that_ends_early_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.pickle.gz"
    raw = gzip.compress(
        pickle.dumps({"segments": [small(block(A, 512))] * 50, "x": random.Random(1).randbytes(5000).hex()})
    )
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(UnreadableInputError) as caught:
        Read(path, tmp_path)
    assert caught.value.code == "snapshot_pickle_truncated"


def test_several_devices_are_numbered_through_and_marks_are_counted_once(read: Callable[..., Read]) -> None:
    marks = []
    for step in range(3):
        for device in (0, 1):
            marks += [
                annotation("START", "Optimizer.zero_grad#Adam.zero_grad", 100 * step + 10, device),
                annotation("END", "Optimizer.zero_grad#Adam.zero_grad", 100 * step + 12, device),
                annotation("START", "Optimizer.step#Adam.step", 100 * step + 50, device),
                annotation("END", "Optimizer.step#Adam.step", 100 * step + 60, device),
            ]
    traces = [[event("alloc", A, 512, 20)], [event("alloc", A, 1024, 120), event("alloc", A + 1024, 512, 290)]]
    segments = [small(block(A, 512)), small(block(A, 1024), block(A + 1024, 512), device=1)]
    found = read({"segments": segments, "device_traces": traces, "external_annotations": marks})
    assert [(row["device"], row["alloc_seq"]) for row in found.rows("allocations")] == [
        ("cuda:0", 0),
        ("cuda:1", 1),
        ("cuda:1", 2),
    ]
    assert [
        (row["step"], row["host_start_ns"], row["host_end_ns"], row["incomplete"]) for row in found.rows("steps")
    ] == [
        (1, 10_000, 110_000, False),
        (2, 110_000, 210_000, False),
        (3, 210_000, 290_001, False),
    ]
    assert len(found.rows("slices")) == 12
    assert [row["process"] for row in found.rows("tracks")] == ["cuda:0", "cuda:1"]
    ends = {row["device"]: row["active"] for row in found.rows("memory")}
    assert ends == {"cuda:0": 512, "cuda:1": 1536}


def test_a_loop_that_clears_gradients_last_is_cut_at_its_updates(read: Callable[..., Read]) -> None:
    marks = []
    for step in range(2):
        marks += [
            annotation("START", "Optimizer.step#SGD.step", 100 * step + 50),
            annotation("END", "Optimizer.step#SGD.step", 100 * step + 60),
        ]
        marks += [
            annotation("START", "Optimizer.zero_grad#SGD.zero_grad", 100 * step + 61),
            annotation("END", "Optimizer.zero_grad#SGD.zero_grad", 100 * step + 62),
        ]
    trace = [event("alloc", A, 512, 5), event("alloc", A + 512, 512, 180)]
    found = read(
        {
            "segments": [small(block(A, 512), block(A + 512, 512))],
            "device_traces": [trace],
            "external_annotations": marks,
        }
    )
    assert [
        (row["step"], row["host_start_ns"], row["host_end_ns"], row["incomplete"]) for row in found.rows("steps")
    ] == [
        (1, 5_000, 60_000, True),
        (2, 60_000, 160_000, False),
        (3, 160_000, 180_001, True),
    ]


def test_profiler_marks_come_before_those_of_optimizers(read: Callable[..., Read]) -> None:
    marks = [
        annotation("START", "ProfilerStep#7", 10),
        annotation("START", "Optimizer.step#SGD.step", 15),
        annotation("END", "Optimizer.step#SGD.step", 16),
        annotation("END", "ProfilerStep#7", 20),
        annotation("START", "my range", 21),
        annotation("END", "other", 22),
    ]
    found = read({"segments": [], "device_traces": [[event("alloc", A, 1, 12)]], "external_annotations": marks})
    assert [(row["step"], row["marks_from"]) for row in found.rows("steps")] == [(7, "profiler_step")]
    assert [(row["name"], row["kind"], row["step"]) for row in found.rows("slices")] == [
        ("ProfilerStep#7", "step", 7),
        ("my range", "annotation", None),
        ("Optimizer.step#SGD.step", "annotation", 7),
    ]
    assert found.notes["begin_without_end"] == 1
    assert found.notes["end_without_begin"] == 1


def test_private_pools_and_user_labels_are_kept(read: Callable[..., Read]) -> None:
    trace = [
        event("alloc", A, 512, 1, user_metadata="warm up", pool_id=(0, 0)),
        event("alloc", A + 4 * MB, 512, 2, user_metadata="", compile_context="0/0"),
        event("alloc", A + 8 * MB, 512, 3, pool_id=(0, 4)),
        *freed(A + 8 * MB, 512, 4),
    ]
    private = segment(A + 4 * MB, 2 * MB, [block(A + 4 * MB, 512)], segment_pool_id=(3, 0))
    found = read({"segments": [small(block(A, 512)), private], "device_traces": [trace]})
    assert [(row["pool"], row["category"]) for row in found.rows("allocations")] == [
        ("caching allocator", "warm up"),
        ("private pool 3, 0", None),
        ("private pool 0, 4", None),
    ]
    assert found.notes["snapshot_private_pools"] == 1
    assert found.notes["snapshot_compile_context"] == 1


def test_expandable_segments_grow_and_shrink(read: Callable[..., Read]) -> None:
    trace = [
        event("segment_map", A, 20 * MB, 1),
        event("alloc", A, 3 * MB, 2),
        event("segment_map", A + 20 * MB, 20 * MB, 3),
        event("segment_unmap", A + 20 * MB, 20 * MB, 4),
    ]
    state = segment(A, 20 * MB, [block(A, 3 * MB), block(A + 3 * MB, 17 * MB, "inactive")], is_expandable=True)
    found = read({"segments": [state], "device_traces": [trace]})
    assert [row["reserved"] // MB for row in found.rows("memory")] == [0, 20, 20, 40, 20]
    assert [(row["kind"], row["bytes"]) for row in found.rows("memory_events")] == [
        ("segment_map", 20 * MB),
        ("segment_map", 20 * MB),
        ("segment_unmap", 20 * MB),
    ]
    assert found.rows("segments")[0]["kind"] == "expandable"
    # In expandable segments any rest is split off, so the block is as large as it was rounded.
    assert found.rows("allocations")[0]["bytes"] == 3 * MB


def test_a_free_that_waits_for_a_stream_is_active_but_not_allocated(read: Callable[..., Read]) -> None:
    trace = [
        event("free_completed", A + 512, 512, 1),  # asked for before the window
        event("alloc", A, 512, 2),
        event("free_requested", A, 512, 3),
    ]
    state = small(
        block(A, 512, "active_pending_free"),
        block(A + 512, 512, "inactive"),
        block(A + 1024, 512, "active_pending_free"),
    )
    found = read({"segments": [state], "device_traces": [trace]})
    curve = [(row["allocated"], row["active"]) for row in found.rows("memory")]
    assert curve == [(0, 1024), (0, 512), (512, 1024), (0, 1024)]
    blocks = {row["address"]: (row["before_window"], row["free_ns"]) for row in found.rows("allocations")}
    assert blocks == {A: (False, None), A + 512: (True, 1000), A + 1024: (True, None)}


def test_a_recorder_that_skips_completions_still_tells_lives(read: Callable[..., Read]) -> None:
    trace = [event("alloc", A, 512, 1), event("free_requested", A, 512, 2), event("alloc", A, 512, 3)]
    found = read({"segments": [small(block(A, 512))], "device_traces": [trace]})
    assert [(row["alloc_seq"], row["free_seq"]) for row in found.rows("allocations")] == [(0, 1), (2, None)]


def test_lost_and_stray_frees_are_reported(read: Callable[..., Read]) -> None:
    trace = [
        event("alloc", A, 512, 1),
        event("alloc", A, 1024, 2),  # the free between is missing
        *freed(A, 1024, 3),
        event("free_completed", A, 1024, 4),
    ]
    found = read({"segments": [small(block(A, 2 * MB, "inactive"))], "device_traces": [trace]})
    assert [(row["alloc_seq"], row["free_seq"], row["lost_free"]) for row in found.rows("allocations")] == [
        (0, None, True),
        (1, 3, False),
    ]
    assert [row["active"] for row in found.rows("memory")] == [0, 512, 1024, 1024, 0]
    assert (found.notes["snapshot_free_lost"], found.notes["snapshot_stray_free"]) == (1, 1)


def test_a_snapshot_made_from_a_profile_has_categories_and_a_cpu(read: Callable[..., Read]) -> None:
    trace = [
        event("alloc", 64, 400, category="gradient"),
        event("alloc", 1024, 100, category="unknown"),
        *freed(1024, 100),
    ]
    state: dict[str, Any] = {"device": 1, "address": 64, "total_size": 400, "stream": 0}
    state["blocks"] = [{"size": 400, "state": "active_allocated", "requested_size": 400, "frames": []}]
    found = read({"segments": [state], "device_traces": [[], trace]})
    assert [(row["device"], row["category"]) for row in found.rows("allocations")] == [
        ("cpu", "gradient"),
        ("cpu", "unknown"),
    ]
    assert found.rows("ranks")[0]["device_kind"] == "cpu"


def test_stacks_are_stored_once_and_name_the_operator(read: Callable[..., Read]) -> None:
    library = frame("forward", 10, "/usr/lib/python3.12/site-packages/torch/nn/modules/linear.py")
    native = [
        frame("c10::cuda::CUDACachingAllocator::malloc(...)", 0, "??"),
        frame("at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)", 0, "??"),
        frame("at::_ops::addmm::call(at::Tensor const&)", 0, "/b/aten/src/ATen/Operators_1.cpp"),
    ]
    own = [library, frame("model", 20), frame("<module>", 30)]
    compiled = frame("forward", 5, "/tmp/torchinductor/x.py") | {"fx_node_op": "call_function", "fx_node_name": "mm_1"}
    trace = [
        event("alloc", A, 1, 1, frames=own),
        event("alloc", A + 512, 1, 2, frames=list(own)),
        event("alloc", A + 1024, 1, 3, frames=native + own),
        event("alloc", A + 1536, 1, 4, frames=[library]),
        event("alloc", A + 2048, 1, 5),
        event("alloc", A + 2560, 1, 6, frames=[compiled]),
        event("alloc", A + 3072, 1, 7, frames=native),
    ]
    found = read({"segments": [], "device_traces": [trace]})
    rows = found.rows("allocations")
    assert rows[0]["stack"] == rows[1]["stack"]
    frames = {row["stack"]: row["frames"].split("\n") for row in found.rows("stacks")}
    assert frames[rows[0]["stack"]] == [
        "/home/u/train.py(30): <module>",
        "/home/u/train.py(20): model",
        "/usr/lib/python3.12/site-packages/torch/nn/modules/linear.py(10): forward",
    ]
    assert [row["operator"] for row in rows[:5]] == [
        "train.py(20): model",
        "train.py(20): model",
        "train.py(20): model",  # the user's line, whatever C++ frames lie inside it
        None,
        None,
    ]
    assert rows[6]["operator"] == "aten::addmm"  # what was asked for, not how it is done
    assert frames[rows[5]["stack"]] == ["/tmp/torchinductor/x.py(5): forward [call_function mm_1]"]
    assert found.notes["snapshot_block_unknown"] == 7


def test_missing_stacks_say_how_to_record_them(read: Callable[..., Read]) -> None:
    found = read({"segments": [], "device_traces": [[event("alloc", A, 1, 1)]]})
    assert found.notes["snapshot_without_stacks"] == 1
    assert "stacks=" in text("note.snapshot_without_stacks", count=1, file="a")


def test_missing_stacks_are_counted_over_all_devices(read: Callable[..., Read]) -> None:
    known = [event("alloc", A, 512, 1, frames=[frame("loop", 3)]), event("alloc", A + 512, 512, 2)]
    unknown = [event("alloc", A + 512 * place, 512, 3 + place) for place in range(3)]
    found = read({"segments": [], "device_traces": [known, unknown]})
    assert found.params["snapshot_stacks_partly"] == {"of": 5}
    assert found.notes["snapshot_stacks_partly"] == 4
    assert "snapshot_without_stacks" not in found.notes


def test_rounding_by_power_of_two_divisions(read: Callable[..., Read]) -> None:
    divisions = {str(1 << place): 4 for place in range(16)}
    sizes = {3_000_000: 3 * MB, 5 * MB: 5 * MB, 5 * MB + 1: 6 * MB, 2000: 2048, 2049: 2560, 70 << 30: 80 << 30}
    trace = [
        entry for place, size in enumerate(sizes) for entry in (event("alloc", A, size, place), *freed(A, size, place))
    ]
    settings = {"roundup_power2_divisions": divisions}
    found = read({"segments": [], "device_traces": [trace], "allocator_settings": settings})
    assert {row["requested_bytes"]: row["bytes"] for row in found.rows("allocations")} == sizes


def test_equal_times_keep_their_order_and_missing_ones_are_filled(read: Callable[..., Read]) -> None:
    trace = [event("alloc", A, 512), event("alloc", A + 512, 512, 9), event("alloc", A + 1024, 512), *freed(A, 512, 9)]
    found = read({"segments": [], "device_traces": [trace]})
    assert [row["alloc_ns"] for row in found.rows("allocations")] == [9000, 9000, 9000]
    assert found.notes["snapshot_event_without_time"] == 2
    assert [row["active"] for row in found.rows("memory")] == [0, 512, 1024, 1536, 1536, 1024]


def test_unknown_fields_and_actions_are_not_dropped_in_silence(read: Callable[..., Read]) -> None:
    trace = [event("snapshot", 0, 0, 1), event("user_defined", 5, 6, 2, colour="red"), event("alloc", A, None, 3)]  # type: ignore[arg-type]
    found = read({"segments": ["?"], "device_traces": [[*trace, 17]], "extra": 1})
    assert [row["kind"] for row in found.rows("memory_events")] == ["snapshot", "user_defined"]
    assert found.notes["snapshot_field_ignored"] == 1
    assert found.notes["memory_event_incomplete"] == 1
    assert found.notes["snapshot_element_dropped"] == 2


def test_an_event_that_the_file_refers_to_twice_is_read_twice(read: Callable[..., Read]) -> None:
    allocator = Allocator(5)
    allocator.recording = True
    allocator.run(20)
    content = allocator.snapshot()
    expected = read(content, "plain.pickle")
    shared = read(content | {"again": allocator.trace[0]}, "shared.pickle")
    assert shared.tables["allocations"].equals(expected.tables["allocations"])
    assert shared.notes["snapshot_field_ignored"] == 1


def test_a_history_longer_than_one_batch_is_whole(read: Callable[..., Read]) -> None:
    trace = []
    for place in range(2501):
        trace += [
            event("alloc", A + place % 7 * 512, 100 + place, place),
            *freed(A + place % 7 * 512, 100 + place, place),
        ]
    found = read({"segments": [], "device_traces": [trace]})
    rows = found.rows("allocations")
    assert [row["requested_bytes"] for row in rows] == list(range(100, 2601))
    assert all(row["free_seq"] == row["alloc_seq"] + 2 for row in rows)
