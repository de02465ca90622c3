"""Traces of several ranks that a tool merged into one file, as SGLang's profile merger does."""

from __future__ import annotations

import copy
from pathlib import Path

import stepscope
from readers.kineto.opened_traces import communication
from support.traces import Event, annotation, call, document, kernel, memory, named, operator, write


def _rank(late_ns: int) -> list[Event]:
    """A step of 1 ms: 300 us of computing and, from 600 us on, a collective of 50 us; all ``late_ns`` later."""
    launch = {"External id": 5}
    return [
        named("process_labels", "CPU", pid=100),
        named("process_labels", "GPU 0", pid=0),
        annotation("ProfilerStep#3", late_ns, 1_000_000),
        operator("aten::mm", late_ns + 10_000, 20_000, **launch),
        call("cudaLaunchKernel", late_ns + 15_000, 5_000, 1, **launch),
        kernel("gemm", late_ns + 30_000, 300_000, 1, **launch),
        call("cudaLaunchKernel", late_ns + 500_000, 5_000, 2),
        kernel("ncclDevKernel_AllReduce", late_ns + 600_000, 50_000, 2, stream=20, **communication("allreduce")),
        memory(late_ns + 12_000, 512, 4096, 512),
    ]


def _merged(ranks: dict[str, list[Event]]) -> dict[str, object]:
    """As the merger writes them: the label before each process, then the number that it had."""
    events = []
    for label, own in ranks.items():
        for event in copy.deepcopy(own):
            events.append(event | {"pid": f"{label} {event['pid']}"})
    about = {"backend": "nccl", "rank": 0, "world_size": 2}
    return {"traceEvents": events} | document([], distributedInfo=about) | {"traceEvents": events}


def test_each_rank_of_a_merged_trace_is_a_rank(tmp_path: Path) -> None:
    path = write(tmp_path / "merged-1758.trace.json.gz", _merged({"[TP00]": _rank(0), "[TP01]": _rank(40_000)}))
    run = stepscope.load(path, progress=False)
    parts = ("rank", "step", "period_us", "computing_us", "exposed_communication_us", "idle_us")
    # From the mark to the end of the collective; 30 us before the first kernel and 270 between the two are idle.
    expected = [(rank, 3, 650.0, 300.0, 50.0, 300.0) for rank in (0, 1)]
    assert run.steps().select(parts).rows() == expected
    assert run.sql("SELECT rank, device_kind, device_index, world_size FROM ranks ORDER BY rank").rows() == [
        (0, "gpu", 0, 2),
        (1, "gpu", 0, 2),
    ]
    counted = run.sql("SELECT rank, kind, count(*) AS count FROM slices GROUP BY ALL ORDER BY ALL").rows()
    of_rank = [("collective", 1), ("kernel", 1), ("operator", 1), ("runtime", 2), ("step", 1)]
    assert counted == [(rank, kind, count) for rank in (0, 1) for kind, count in of_rank]
    assert run.sql("SELECT rank, operator FROM slices WHERE name = 'gemm' ORDER BY rank").rows() == [
        (0, "aten::mm"),
        (1, "aten::mm"),
    ]
    assert run.sql("SELECT rank, count(*) AS count FROM memory GROUP BY rank ORDER BY rank").rows() == [(0, 1), (1, 1)]
    assert "duplicate_correlation" not in {note.code for note in run.notes}


def test_ranks_are_read_from_their_own_traces_where_these_lie_beside_the_merged_one(tmp_path: Path) -> None:
    for rank in (0, 1):
        about = {"backend": "nccl", "rank": rank, "world_size": 2}
        own = document(_rank(rank * 40_000), distributedInfo=about)
        write(tmp_path / f"1758-TP-{rank}.trace.json.gz", own)
    write(tmp_path / "merged-1758.trace.json.gz", _merged({"[TP00]": _rank(0), "[TP01]": _rank(40_000)}))
    run = stepscope.load(tmp_path, progress=False)
    sources = run.sql("SELECT rank, source FROM ranks ORDER BY rank").rows()
    assert [(rank, Path(source).name) for rank, source in sources] == [
        (0, "1758-TP-0.trace.json.gz"),
        (1, "1758-TP-1.trace.json.gz"),
    ]
    assert {"merged_left_out"} <= {note.code for note in run.notes}
    assert not {"other_windows", "windows_guessed"} & {note.code for note in run.notes}


def test_a_merged_trace_of_more_ranks_than_lie_beside_it_is_read(tmp_path: Path) -> None:
    about = {"backend": "nccl", "rank": 1, "world_size": 2}
    write(tmp_path / "1758-TP-1.trace.json.gz", document(_rank(40_000), distributedInfo=about))
    write(tmp_path / "merged-1758.trace.json.gz", _merged({"[TP00]": _rank(0), "[TP01]": _rank(40_000)}))
    assert stepscope.load(tmp_path, window="merged-1758.trace", progress=False).ranks == [0, 1]


def test_names_of_processes_that_only_look_alike_are_no_ranks(tmp_path: Path) -> None:
    events = [event | {"pid": f"[worker] {event['pid']}"} for event in _rank(0)]
    run = stepscope.load(write(tmp_path / "trace.json", document(events)), progress=False)
    assert run.ranks == [0]
