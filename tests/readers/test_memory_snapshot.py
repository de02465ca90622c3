from __future__ import annotations

import copyreg
import gzip
import io
import itertools
import json
import pickle
import pickletools
import random
import struct
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers.memory_snapshot_builder import MB, Allocator, annotation, block, event, frame, freed, segment, write
from stepscope.errors import UnreadableInputError
from stepscope.readers import memory_snapshot
from stepscope.readers.discovery.source import Source
from stepscope.readers.memory_snapshot.unpickle import load
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter
from stepscope.texts import catalogue, text

SAMPLE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "memory" / "cuda_snapshot_expandable.pickle"
needs_sample = pytest.mark.skipif(not SAMPLE.exists(), reason="needs the shared captures")

A = 0x7F00_0000_0000


class Read:
    """The tables and notes of a snapshot."""

    def __init__(self, path: Path, folder: Path) -> None:
        out = folder / f"tables-{len(list(folder.iterdir()))}"
        out.mkdir()
        writer, notes = RankWriter(out, 0), Notes()
        memory_snapshot.read(Source(path, "memory_snapshot", 0, (path,)), writer, notes)
        self.tables = {
            table: pl.concat([pl.read_parquet(out / name) for name in files]) for table, files in writer.close().items()
        }
        self.notes = {note.code: note.count for note in notes.all()}
        self.params = {note.code: note.params for note in notes.all()}
        for note in notes.all():
            assert note.sentence("en")
            assert note.sentence("zh")

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.tables[table].rows(named=True) if table in self.tables else []


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def reading(content: Any, name: str = "snapshot.pickle", protocol: int = 4) -> Read:
        path = content if isinstance(content, Path) else write(tmp_path, content, name, protocol)
        return Read(path, tmp_path)

    return reading


def refusal(raw: bytes) -> UnreadableInputError:
    with pytest.raises(UnreadableInputError) as caught:
        load(lambda: [raw], "evil.pickle")
    assert caught.value.message("zh")
    return caught.value


# --- the recorded sample -------------------------------------------------------------------------------------------


def plainly() -> dict[str, Any]:
    """The sample through Python's own unpickler, which is safe because no instruction in it can call anything."""
    raw = SAMPLE.read_bytes()
    forbidden = (
        "GLOBAL",
        "STACK_GLOBAL",
        "REDUCE",
        "BUILD",
        "INST",
        "OBJ",
        "NEWOBJ",
        "NEWOBJ_EX",
        "PERSID",
        "BINPERSID",
    )
    used = {opcode.name for opcode, _, _ in pickletools.genops(raw)}
    assert not used & {*forbidden, "EXT1", "EXT2", "EXT4"}
    found = pickle.loads(raw)
    assert isinstance(found, dict)
    return found


@needs_sample
def test_the_restricted_unpickler_agrees_with_pickle_on_the_sample() -> None:
    raw = SAMPLE.read_bytes()
    assert load(lambda: [raw], "sample")[0] == plainly()


@needs_sample
def test_every_event_of_the_sample_ends_in_a_table(read: Callable[..., Read]) -> None:
    found = read(SAMPLE)
    allocations = found.rows("allocations")
    born = sum(row["alloc_seq"] is not None for row in allocations)
    ended = sum(row["free_seq"] is not None for row in allocations)
    others = Counter(row["kind"] for row in found.rows("memory_events"))
    assert (born, ended, sum(row["before_window"] for row in allocations)) == (183, 153, 6)
    assert others == {"segment_map": 5, "oom": 1}
    # A free is two events: asked for, and done.
    assert born + 2 * ended + sum(others.values()) == len(plainly()["device_traces"][0]) == 495
    assert not {"snapshot_stray_free", "snapshot_free_lost", "snapshot_below_zero"} & found.notes.keys()


@needs_sample
def test_the_known_answer_of_the_sample(read: Callable[..., Read]) -> None:
    found = read(SAMPLE)
    steps = [(row["host_start_ns"], row["host_end_ns"], row["step"]) for row in found.rows("steps")]
    assert [step for _, _, step in steps] == list(range(1, 9))

    def step_of(moment: int) -> int:
        return next(int(step) for start, end, step in steps if start <= moment < end)

    survivors = defaultdict(list)
    for row in found.rows("allocations"):
        if row["free_ns"] is None and not row["before_window"]:
            survivors[row["requested_bytes"]].append(step_of(row["alloc_ns"]))
    assert sum(map(len, survivors.values())) == 30
    assert survivors[4_000_004] == [1, 2, 3, 4, 5, 6, 7, 8]  # leaks
    assert survivors[3_000_004] == [1, 2, 3, 4]  # a cache of four
    assert survivors[2_000_004] == [6, 7, 8]  # a ring of three
    assert survivors[33_554_432] == [1, 1]  # workspace
    assert survivors[8_388_608] == [1, 1, 8]  # two moments of the optimizer, one gradient
    assert survivors[8_192] == [1, 1, 8]


@needs_sample
def test_the_sample_adds_up_to_the_byte(read: Callable[..., Read]) -> None:
    found = read(SAMPLE)
    last = found.rows("memory")[-1]
    assert (last["allocated"], last["reserved"], last["active"]) == (154_180_096, 169_869_312, 154_180_096)
    assert sum(row["bytes"] for row in found.rows("segments")) == 169_869_312
    alive = [row for row in found.rows("allocations") if row["free_seq"] is None]
    assert sum(row["bytes"] for row in alive) == 154_180_096
    assert sum(row["requested_bytes"] for row in alive) == 154_173_788


@needs_sample
def test_bytes_per_site_and_peak_of_the_sample_match_a_forward_replay(read: Callable[..., Read]) -> None:
    found, plain = read(SAMPLE), plainly()
    sites: Counter[tuple[tuple[str, int], ...]] = Counter()
    older = sum(
        item["size"]
        for part in plain["segments"]
        for item in part["blocks"]
        if item["state"] == "active_allocated" and not item["frames"] and item["address"] not in allocated_in(plain)
    )
    now = peak = older
    for entry in plain["device_traces"][0]:
        size = -(-entry["size"] // 512) * 512
        if entry["action"] == "alloc":
            sites[tuple((each["filename"], each["line"]) for each in entry["frames"])] += entry["size"]
            now += size
        elif entry["action"] == "free_requested":
            now -= size
        peak = max(peak, now)
    assert max(row["allocated"] for row in found.rows("memory")) == peak
    frames = {row["stack"]: row["frames"] for row in found.rows("stacks")}
    ours: Counter[tuple[tuple[str, int], ...]] = Counter()
    for row in found.rows("allocations"):
        if not row["before_window"]:
            lines = reversed(frames[row["stack"]].split("\n")) if row["stack"] is not None else ()
            places = [line.split("): ")[0].rpartition("(") for line in lines]
            ours[tuple((file, int(number)) for file, _, number in places)] += row["requested_bytes"]
    assert ours == sites


def allocated_in(plain: dict[str, Any]) -> set[int]:
    return {entry["addr"] for entry in plain["device_traces"][0] if entry["action"] == "alloc"}


@needs_sample
def test_times_of_the_sample_are_exact_and_the_out_of_memory_is_there(read: Callable[..., Read]) -> None:
    found, trace = read(SAMPLE), plainly()["device_traces"][0]
    for row in found.rows("allocations"):
        if row["alloc_seq"] is not None:
            assert row["alloc_ns"] == trace[row["alloc_seq"]]["time_us"] * 1000
    oom = next(row for row in found.rows("memory_events") if row["kind"] == "oom")
    assert (oom["bytes"], oom["free_bytes"], oom["seq"]) == (8_796_093_022_208, 149_152_727_040, 494)


@needs_sample
def test_reading_leaves_the_sample_as_it_is(read: Callable[..., Read]) -> None:
    before = SAMPLE.read_bytes()
    read(SAMPLE)
    assert SAMPLE.read_bytes() == before


# --- against an allocator that knows the truth ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_curve_equals_what_the_allocator_counted_at_every_event(seed: int, read: Callable[..., Read]) -> None:
    allocator = Allocator(seed)
    allocator.run(60)  # before the recording
    before = tuple(allocator.totals)
    allocator.recording = True
    allocator.run(300)
    found = read(allocator.snapshot())
    curve = [(row["allocated"], row["reserved"], row["active"]) for row in found.rows("memory")]
    assert curve[0] == before
    assert curve[1:] == allocator.truth


@pytest.mark.parametrize("seed", range(4))
def test_blocks_alive_at_any_moment_add_up_to_what_is_active(seed: int, read: Callable[..., Read]) -> None:
    allocator = Allocator(100 + seed)
    allocator.run(40)
    allocator.recording = True
    allocator.run(200)
    found = read(allocator.snapshot())
    blocks = found.rows("allocations")
    for seq, (_, _, active) in enumerate(allocator.truth):
        alive = (
            row
            for row in blocks
            if (row["alloc_seq"] is None or row["alloc_seq"] <= seq)
            and (row["free_seq"] is None or row["free_seq"] > seq)
        )
        assert sum(row["bytes"] for row in alive) == active


def test_blocks_alive_together_never_overlap(read: Callable[..., Read]) -> None:
    allocator = Allocator(7)
    allocator.recording = True
    allocator.run(400)
    alive = sorted(
        (row["address"], row["bytes"])
        for row in read(allocator.snapshot()).rows("allocations")
        if row["free_seq"] is None
    )
    assert all(left + size <= right for (left, size), (right, _) in itertools.pairwise(alive))


def test_a_history_without_its_beginning_still_ends_right(read: Callable[..., Read]) -> None:
    allocator = Allocator(3)
    allocator.recording = True
    allocator.run(300)
    whole = allocator.snapshot()
    for part in whole["segments"]:
        for item in part["blocks"]:
            item["frames"] = [frame("loop", 3)]
    whole["device_traces"] = [allocator.trace[-120:]]
    found = read(whole)
    curve = [(row["allocated"], row["reserved"], row["active"]) for row in found.rows("memory")]
    assert curve[-1] == allocator.truth[-1]
    assert [row[1:] for row in curve[1:]] == [row[1:] for row in allocator.truth[-120:]]
    assert found.notes["snapshot_history_truncated"] > 0


# --- kinds of snapshots --------------------------------------------------------------------------------------------


def small(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return segment(A, 2 * MB, list(blocks), **more)


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


def test_lost_and_stray_frees_are_told(read: Callable[..., Read]) -> None:
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


# --- hostile files -------------------------------------------------------------------------------------------------


class Evil:
    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> Any:
        return self.reduced


class Stateful:
    def __init__(self) -> None:
        self.a = 1


def hostile() -> dict[str, tuple[bytes, str]]:
    """Pickles that would call something, and what the refusal must name."""
    system = getattr(__import__("os"), "system")  # noqa: B009
    nested: Any = {"segments": [{"blocks": [Evil(system, ("true",))]}]}
    persistent = io.BytesIO()

    class Persistent(pickle.Pickler):
        def persistent_id(self, thing: Any) -> str | None:
            return "db 7" if thing == "x" else None

    Persistent(persistent, 2).dump(["x"])
    return {
        "os.system": (pickle.dumps(Evil(system, ("true",))), "posix.system"),
        "os.system as text": (pickle.dumps(Evil(system, ("true",)), 0), "posix.system"),
        "builtins.eval": (pickle.dumps(Evil(eval, ("1",))), "builtins.eval"),
        "builtins.eval, old": (pickle.dumps(Evil(eval, ("1",)), 2), "eval"),
        "copyreg": (pickle.dumps(Stateful(), 0), "copy_reg._reconstructor"),
        "new object": (pickle.dumps(Stateful()), "Stateful"),
        "nested": (pickle.dumps(nested), "posix.system"),
        "extension 1": (b"\x80\x02\x82\x05.", "extension 5"),
        "extension 2": (b"\x80\x02\x83\x05\x01.", "extension 261"),
        "extension 4": (b"\x80\x02\x84\x05\x01\x00\x00.", "extension 261"),
        "global": (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        "instance": (b"(S'true'\nios\nsystem\n.", "os.system"),
        "object": (b"(S'true'\no.", "OBJ"),
        "reduce": (b"\x80\x02]\x85R.", "REDUCE"),
        "build": (b"\x80\x02]}b.", "BUILD"),
        "newobj": (b"\x80\x02])\x81.", "NEWOBJ"),
        "newobj_ex": (b"\x80\x04])}\x92.", "NEWOBJ_EX"),
        "persistent": (b"Pdb 7\n.", "persistent object db 7"),
        "binary persistent": (persistent.getvalue(), "BINPERSID"),
        "set": (pickle.dumps({1, 2}), "EMPTY_SET"),
        "frozen set": (pickle.dumps(frozenset((1, 2))), "FROZENSET"),
        "bytearray": (pickle.dumps(bytearray(5), 5), "BYTEARRAY8"),
        "buffer": (b"\x80\x05\x97.", "NEXT_BUFFER"),
        "numbers as keys": (pickle.dumps({1: 2}), "dict[int]"),
        "tuples as keys": (pickle.dumps({(1, 2): 2}), "dict[tuple]"),
    }


@pytest.mark.parametrize("name", hostile())
def test_what_would_call_something_is_refused_by_name(name: str, tmp_path: Path) -> None:
    raw, what = hostile()[name]
    error = refusal(raw)
    assert error.code == "snapshot_pickle_forbidden"
    assert what in error.params["what"]
    assert what in error.message()


def test_nothing_is_executed(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    raw = pickle.dumps({"segments": Evil(Path.touch, (touched,)), "device_traces": []})
    path = tmp_path / "evil.pickle"
    path.write_bytes(raw)
    with pytest.raises(UnreadableInputError):
        Read(path, tmp_path)
    assert not touched.exists()


def test_a_registered_extension_is_refused_too() -> None:
    copyreg.add_extension("builtins", "print", 241)
    try:
        assert refusal(pickle.dumps(print, 2)).params["what"] == "extension 241"
    finally:
        copyreg.remove_extension("builtins", "print", 241)


@pytest.mark.parametrize("depth", [60_000, 100_000])
def test_deep_nesting_is_no_harm(depth: int, tmp_path: Path) -> None:
    deep = {"lists": b"]" * depth + b"a" * (depth - 1), "tuples": b"N" + b"\x85" * depth}
    for inner in deep.values():
        path = tmp_path / "deep.pickle"
        path.write_bytes(b"\x80\x02}X\x08\x00\x00\x00segments" + inner + b"s.")
        try:
            assert not Read(path, tmp_path).rows("segments")
        except UnreadableInputError as error:
            assert depth == 100_000
            assert error.params["what"] == "number of containers"


def long_numbers() -> list[bytes]:
    return [
        b"\x80\x02\x8b" + struct.pack("<I", 1 << 30) + b"\x01" * 100 + b".",
        b"\x80\x02\x8b" + struct.pack("<I", 200_000) + b"\x01" * 200_000 + b".",
        b"\x80\x02\x8a\xff" + b"\x01" * 255 + b".",
        b"L" + b"9" * 100_000 + b"L\n.",
        b"I" + b"9" * 5000 + b"\n.",
        b"F" + b"9" * 5000 + b"\n.",
    ]


@pytest.mark.parametrize("place", range(6))
def test_numbers_beyond_measure_are_refused(place: int) -> None:
    assert refusal(long_numbers()[place]).code == "snapshot_pickle_too_large"


@pytest.mark.parametrize(
    "raw",
    [
        b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"abc.",
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"abc.",
        b"\x80\x04X" + struct.pack("<I", 0xFFFFFFFF) + b"abc.",
    ],
)
def test_texts_of_absurd_length_are_refused_without_room_being_made(raw: bytes) -> None:
    assert refusal(raw).code == "snapshot_pickle_too_large"


def test_memo_numbers_beyond_measure_are_refused() -> None:
    assert refusal(b"\x80\x02]r" + struct.pack("<I", 0x7FFFFFFF) + b".").params["what"] == "memo"
    assert refusal(b"]p2147483647\n.").params["what"] == "memo"
    assert refusal(b"\x80\x02]q\x05h\x03.").code == "snapshot_pickle_damaged"


def test_a_list_that_holds_itself_is_no_harm(tmp_path: Path) -> None:
    mine: list[Any] = []
    mine.append(mine)
    content: dict[str, Any] = {"segments": mine, "device_traces": [mine]}
    content["self"] = content
    found = Read(write(tmp_path, content), tmp_path)
    assert found.notes["snapshot_element_dropped"] == 2
    found = Read(
        write(tmp_path, {"segments": [small(block(A, 512)) | {"blocks": mine}], "device_traces": mine}), tmp_path
    )
    assert found.rows("segments")[0]["active_bytes"] == 0


def test_shared_references_are_not_unfolded(tmp_path: Path) -> None:
    laugh: Any = ["ha"]
    for _ in range(60):
        laugh = [laugh] * 10
    load(lambda: [pickle.dumps(laugh)], "laughs")
    found = Read(write(tmp_path, {"segments": laugh, "device_traces": laugh, "external_annotations": laugh}), tmp_path)
    assert not found.rows("allocations")


def test_keys_that_take_forever_to_hash_are_refused() -> None:
    # A pair of twice the same pair, sixty times over, as key: Python would hash it 2**60 times.
    raw = b"\x80\x02}N" + b"2\x86" * 60 + b"Ns."
    assert refusal(raw).params["what"] == "dict[tuple]"


def test_one_list_of_blocks_in_a_million_segments_is_refused(tmp_path: Path) -> None:
    blocks = [block(A, 512)] * 1000
    content = {"segments": [segment(A, 2 * MB, blocks)] * 10_000, "device_traces": []}
    with pytest.raises(UnreadableInputError) as caught:
        Read(write(tmp_path, content), tmp_path)
    assert caught.value.params["what"] == "number of rows"
    trace = [event("alloc", A, 512, 1)] * 3000
    with pytest.raises(UnreadableInputError) as caught:
        Read(write(tmp_path, {"segments": [], "device_traces": [trace] * 500}), tmp_path)
    assert caught.value.params["what"] == "number of rows"


def test_stacks_of_shared_long_frames_stay_small(tmp_path: Path) -> None:
    frames = [frame("f" * 60_000, 1, "/x" * 30_000)] * 20_000
    trace = [event("alloc", A + 512 * place, 1, place, frames=frames) for place in range(50)]
    found = Read(write(tmp_path, {"segments": [], "device_traces": [trace]}), tmp_path)
    assert found.tables["stacks"]["frames"].str.len_bytes().sum() < 5 * MB
    assert found.notes["snapshot_stack_cut"] == 1


def test_more_containers_than_the_bytes_can_mean_are_refused() -> None:
    assert refusal(b"\x80\x02" + b"}0" * 300_000 + b"N.").params["what"] == "number of containers"
    assert refusal(b"\x80\x02" + b")0" * 300_000 + b"N.").params["what"] == "number of containers"
    assert refusal(b"\x80\x02" + b"N" * 3_000_000 + b".").params["what"] == "stack"


def test_a_pickle_cut_anywhere_is_refused_clearly(tmp_path: Path) -> None:
    allocator = Allocator(2)
    allocator.recording = True
    allocator.run(12)
    for protocol in (0, 2, 4):
        raw = pickle.dumps(allocator.snapshot(), protocol)
        for cut in range(0, len(raw) - 1, 7):
            with pytest.raises(UnreadableInputError) as caught:
                load(lambda end=cut, raw=raw: [raw[:end]] if end else [], "cut")  # type: ignore[misc]
            assert caught.value.code == "snapshot_pickle_truncated"


def test_blocks_of_any_size_give_the_same() -> None:
    allocator = Allocator(2)
    allocator.recording = True
    allocator.run(300)
    content = allocator.snapshot() | {"long": "x" * 200_000}
    for protocol in (0, 4):
        raw = pickle.dumps(content, protocol)
        for size in (1000, 65_535, 65_536, 100_001):
            pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
            assert load(lambda pieces=pieces: pieces, "cut")[0] == content  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(3))
def test_damaged_pickles_never_end_in_a_traceback(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    allocator = Allocator(seed)
    allocator.recording = True
    allocator.run(15)
    raw = pickle.dumps(allocator.snapshot(), chance.choice((0, 2, 4)))
    refused = 0
    for number in range(150):
        broken = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path = tmp_path / "broken.pickle"
        path.write_bytes(broken)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            Read(path, folder)
        except UnreadableInputError as error:
            assert error.message()
            refused += 1
        assert path.read_bytes() == bytes(broken)
    assert refused


WRONG: list[Any] = [None, "x", -1, 2**70, [None], float("nan")]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_values_of_wrong_types_do_no_harm(wrong: Any, tmp_path: Path) -> None:
    good = {
        "segments": [small(block(A, 512))],
        "device_traces": [[event("alloc", A, 512, 1, frames=[frame("f", 1)]), *freed(A, 512, 2)]],
        "allocator_settings": {"max_split_size": -1, "roundup_power2_divisions": {"1": 2}},
        "external_annotations": [annotation("START", "a", 1), annotation("END", "a", 2)],
    }
    raw = pickle.dumps(good)
    variants: list[Any] = []
    for key in good:
        variants.append(good | {key: wrong})
    for path in (
        ("segments", 0),
        ("segments", 0, "blocks", 0),
        ("device_traces", 0),
        ("device_traces", 0, 0),
        ("device_traces", 0, 0, "frames", 0),
        ("external_annotations", 0),
        ("allocator_settings", "roundup_power2_divisions"),
    ):
        copy = pickle.loads(raw)
        around = copy
        for part in path[:-1]:
            around = around[part]
        inner = around[path[-1]]
        for key in list(inner) if isinstance(inner, dict) else ():
            changed = pickle.loads(raw)
            there = changed
            for part in path:
                there = there[part]
            there[key] = wrong
            variants.append(changed)
        around[path[-1]] = wrong
        variants.append(copy)
    for number, content in enumerate(variants):
        folder = tmp_path / str(number)
        folder.mkdir()
        Read(write(folder, content), folder)


@pytest.mark.parametrize("content", [None, 5, "x", {}, {"a": 1}, ("segments",)])
def test_other_pickles_are_said_to_be_no_snapshot(content: Any, tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        Read(write(tmp_path, content), tmp_path)
    assert caught.value.code == "snapshot_not_one"


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "empty.pickle"
    path.touch()
    with pytest.raises(UnreadableInputError) as caught:
        Read(path, tmp_path)
    assert caught.value.code == "empty_file"


# --- which files are snapshots -------------------------------------------------------------------------------------


def test_a_directory_of_snapshots_gives_one_source_each(tmp_path: Path) -> None:
    content: dict[str, Any] = {"segments": [], "device_traces": []}
    for name in ("rank1_snapshot.pickle", "rank0_snapshot.pkl"):
        write(tmp_path, content, name)
    (tmp_path / "old.pickle.gz").write_bytes(gzip.compress(pickle.dumps([small()])))
    (tmp_path / "page.html").write_text("made from it")
    files = [path.name for path in tmp_path.iterdir()]
    found = memory_snapshot.claim(tmp_path, [], files)
    assert found is not None
    assert {(source.path.name, source.rank) for source in found} == {
        ("rank1_snapshot.pickle", 1),
        ("rank0_snapshot.pkl", 0),
        ("old.pickle.gz", None),
    }
    assert all(source.files == (source.path,) and source.reader == "memory_snapshot" for source in found)


def test_a_directory_with_other_things_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, {"segments": [], "device_traces": []})
    assert memory_snapshot.claim(tmp_path, ["below"], ["snapshot.pickle"]) is None
    assert memory_snapshot.claim(tmp_path, [], ["snapshot.pickle", "trace.json"]) is None
    write(tmp_path, {"model": 1}, "weights.pkl")
    assert memory_snapshot.claim(tmp_path, [], ["snapshot.pickle", "weights.pkl"]) is None
    assert memory_snapshot.claim(tmp_path, [], []) is None


def test_a_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    raw = pickle.dumps({"segments": [], "device_traces": []})
    assert memory_snapshot.claim_file(tmp_path / "rank_3" / "dump.bin", raw) is not None
    assert memory_snapshot.claim_file(tmp_path / "a.json", b'{"segments": []}') is None
    assert memory_snapshot.claim_file(tmp_path / "a.pickle", b"garbage") is None
    # Named like one: the reader shall explain what is wrong with it.
    claimed = memory_snapshot.claim_file(tmp_path / "rank_3" / "a.pickle", pickle.dumps(Evil(eval, ("1",))))
    assert claimed is not None
    assert claimed.rank == 3


def test_every_sentence_about_memory_has_both_languages() -> None:
    codes = [
        name
        for section in ("note", "error")
        for name in catalogue()[section]
        if name.startswith(("snapshot_", "msmemscope_"))
    ]
    assert len(codes) > 30
    for section in ("note", "error"):
        for name, entry in catalogue()[section].items():
            if name in codes:
                assert set(entry) == {"en", "zh"}
                fields = [
                    {part for part in sentence.replace("{", "\0{").split("\0") if part.startswith("{")}
                    for sentence in entry.values()
                ]
                names = [{part[1 : part.index("}")] for part in each} for each in fields]
                assert names[0] == names[1]
