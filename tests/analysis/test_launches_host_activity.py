"""What the host did: categories by name, and intervals divided and named, against a look at every moment."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from analysis.launch_cases import BACKWARD, HELPER, LOOP, STREAM, US, Case
from analysis.stores import make_store
from stepscope.analysis.foundation.host_activity import ALL, CATEGORIES, category_of, host_of
from stepscope.arrays import NONE


@pytest.mark.parametrize(
    ("kind", "name", "category"),
    [
        ("gc", "anything", "gc"),
        ("python", "<built-in function collect>", "gc"),
        ("annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "data_loading"),
        ("python", "torch/utils/data/dataloader.py(734): __next__", "data_loading"),
        ("annotation", "dataload", "data_loading"),
        ("python", "mindspore/dataset/engine/iterators.py(120): __next__", "data_loading"),
        ("runtime", "AscendCL@aclopCompileAndExecute", "compile"),
        ("python", "torch/_dynamo/eval_frame.py(736): compile_wrapper", "other"),
        ("python", "torch/_inductor/compile_fx.py(600): compile_fx", "compile"),
        ("runtime", "cudaStreamSynchronize", "sync"),
        ("runtime", "cudaMemcpy", "sync"),
        ("runtime", "cudaMemcpyAsync", "launch"),
        ("runtime", "cuMemcpyDtoH_v2", "sync"),
        ("runtime", "cuMemcpyDtoHAsync_v2", "launch"),
        ("runtime", "hipDeviceSynchronize", "sync"),
        ("runtime", "AscendCL@aclrtSynchronizeStreamWithTimeout", "sync"),
        ("runtime", "AscendCL@aclrtMemcpyAsync", "launch"),
        ("runtime", "cudaEventQuery", "runtime"),
        ("runtime", "cudaMalloc", "allocation"),
        ("runtime", "cuLaunchKernelEx", "launch"),
        ("runtime", "Dequeue@Conv2D", "launch"),
        ("operator", "aten::mm", "operator"),
        ("operator", "c10d::barrier", "collective"),
        ("collective", "gloo:all_reduce", "collective"),
        ("python", "torch/distributed/launch.py(200): main", "other"),
        ("annotation", "DistributedDataParallel.forward", "other"),
    ],
)
def test_names_have_categories(kind: str, name: str, category: str) -> None:
    assert CATEGORIES[category_of(kind, name)] == category


def test_wrappers_of_the_profiler_tell_nothing() -> None:
    assert category_of("annotation", "PyTorch Profiler (0)") == NONE


def _random_host(seed: int) -> tuple[Case, random.Random]:
    """Nested slices on three threads."""
    chance = random.Random(seed)
    case = Case()
    names = [
        ("operator", "aten::mm"),
        ("runtime", "cudaStreamSynchronize"),
        ("runtime", "cudaLaunchKernel"),
        ("annotation", "dataload"),
        ("python", "a.py(1): f"),
        ("gc", "gc"),
    ]

    def fill(track: int, start: int, end: int, depth: int) -> None:
        while start < end:
            stop = min(end, start + chance.randint(0, 40))
            if chance.random() < 0.7:
                kind, name = chance.choice(names)
                case.slice(name, kind, start, stop, track=track)
                if depth < 3:
                    fill(track, start, stop, depth + 1)
            start = stop + chance.randint(1, 6)

    for track in (LOOP, BACKWARD, HELPER):
        fill(track, 0, 200, 0)
    return case, chance


@pytest.mark.parametrize("seed", range(8))
def test_an_interval_divides_as_a_look_at_every_moment_does(tmp_path: Path, seed: int) -> None:
    case, chance = _random_host(seed)
    host = host_of(case.store(tmp_path), 0)
    start = np.array([chance.randint(0, 150) for _ in range(30)], np.int64) * US
    end = start + np.array([chance.randint(0, 60) for _ in range(30)], np.int64) * US
    chains = [[chance.choice([LOOP, BACKWARD, HELPER, NONE, ALL]) for _ in range(2)] for _ in range(30)]
    found = host.split([np.array(part, np.int64) for part in zip(*chains, strict=True)], start, end)
    for number, chain in enumerate(chains):
        expected = np.zeros(len(CATEGORIES), np.int64)
        for moment in range(start[number] // US, end[number] // US):
            expected[_looked_up(case, chain, moment * US)] += US
        assert found[number].tolist() == expected.tolist()
        assert found[number].sum() == end[number] - start[number]


def _looked_up(case: Case, chain: list[int], moment: int) -> int:
    for thread in chain:
        around = [
            category_of(row["kind"], row["name"])
            for row in case.slices
            if (thread in (row["track"], ALL)) and row["start_ns"] <= moment < row["start_ns"] + row["dur_ns"]
        ]
        told = [category for category in around if category < len(CATEGORIES) - 1]
        if told:
            return min(told)
    return len(CATEGORIES) - 1


@pytest.mark.parametrize("seed", range(8))
def test_the_slice_that_tells_an_interval_is_the_innermost_over_half_or_the_largest(tmp_path: Path, seed: int) -> None:
    case, chance = _random_host(seed)
    host = host_of(case.store(tmp_path), 0)
    start = np.array([chance.randint(0, 150) for _ in range(40)], np.int64) * US
    end = start + np.array([chance.randint(1, 60) for _ in range(40)], np.int64) * US
    thread = np.array([chance.choice([LOOP, BACKWARD, NONE]) for _ in range(40)], np.int64)
    found = host.dominant([thread], start, end)
    for number in range(40):
        covered = {
            row["slice"]: min(end[number], row["start_ns"] + row["dur_ns"]) - max(start[number], row["start_ns"])
            for row in case.slices
            if row["track"] == thread[number]
        }
        lasts = end[number] - start[number]
        over_half = [case.slices[slice_id] for slice_id, share in covered.items() if 2 * share > lasts]
        best = found[number]
        if over_half:
            deepest = max(row["row"] for row in over_half)
            assert case.slices[best]["row"] == deepest
            assert best in [row["slice"] for row in over_half]
        elif covered and max(covered.values()) >= 0.25 * lasts:
            assert covered[best] == max(covered.values())
        else:
            assert best == NONE


def test_layers_of_one_thread_are_one_thread(tmp_path: Path) -> None:
    # Ascend captures show the Python layer and CANN as two processes; the thread has one number.
    tracks = [
        {"track": 4, "kind": "host", "name": "Thread 77", "process": "Python", "thread": "77", "order": 0},
        {"track": 2, "kind": "host", "name": "Thread 77", "process": "CANN", "thread": "77", "order": 1},
        {"track": 3, "kind": "host", "name": "Thread 78", "process": "CANN", "thread": "78", "order": 2},
        {"track": 9, "kind": "stream", "name": "Stream 1", "thread": "77", "order": 3},
    ]
    slices = [
        {"name": "AscendCL@aclnnMul", "kind": "runtime", "start_ns": 20, "dur_ns": 60, "track": 2},
        {"name": "aten::mul", "kind": "operator", "start_ns": 0, "dur_ns": 100, "track": 4},
        {"name": "Dequeue@x", "kind": "runtime", "start_ns": 0, "dur_ns": 100, "track": 3},
        {"name": "ProfilerStep#1", "kind": "annotation", "start_ns": 0, "dur_ns": 100, "track": 9},
    ]
    host = host_of(make_store(tmp_path, slices=slices, tracks=tracks), 0)
    assert sorted(host.slice.tolist()) == [0, 1, 2], "what lies on a stream is not the host's"
    assert host.thread[host.row_of(np.array([0, 1, 2]))].tolist() == [4, 4, 3]
    assert host.row_of(np.array([3])).tolist() == [NONE]
    found = host.dominant([np.array([4])], np.array([10]), np.array([90]))
    assert found.tolist() == [0], "the call of CANN lies inside the operator"


def test_a_rank_without_host_slices_has_nothing_to_tell(tmp_path: Path) -> None:
    slices = [{"name": "k", "kind": "kernel", "start_ns": 0, "dur_ns": 5, "track": STREAM}]
    host = host_of(make_store(tmp_path, slices=slices), 0)
    nobody = np.array([NONE], np.int64)
    assert host.loop == NONE
    assert host.split([nobody], np.array([0]), np.array([7])).tolist()[0][-1] == 7
    assert host.dominant([nobody], np.array([0]), np.array([7])).tolist() == [NONE]
