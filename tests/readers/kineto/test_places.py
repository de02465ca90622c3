"""Processes that have the number of a device, which both write as their ``pid``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.reading import Reading, read
from support.traces import Event, complete, document, named, write


def opened(tmp_path: Path, events: list[Event]) -> Reading:
    return read(write(tmp_path / "trace.json", document(events)))


def announced(pid: int, *, stream: int, thread: int) -> list[Event]:
    """As the writer does: the process first, then all devices; the last one of equal numbers stands."""
    return [
        named("process_name", "python", pid=pid),
        named("process_labels", "CPU", pid=pid),
        named("process_sort_index", pid, pid=pid),
        named("thread_name", f"thread {thread} (python)", pid=pid, tid=thread),
        *(named("process_name", "python", pid=device) for device in range(8)),
        *(named("process_labels", f"GPU {device}", pid=device) for device in range(8)),
        *(named("process_sort_index", 5_000_000 + device, pid=device) for device in range(8)),
        named("thread_name", f"stream {stream} ", pid=pid, tid=stream),
    ]


def work(*, pid: int, thread: int, device: int, stream: int) -> list[Event]:
    def on_host(category: str, name: str, start_ns: int, dur_ns: int, **args: Any) -> Event:
        return complete(category, name, start_ns, dur_ns, pid=pid, tid=thread, **args)

    def on_device(name: str, start_ns: int, dur_ns: int, correlation: int) -> Event:
        own = {"stream": stream, "device": device, "correlation": correlation}
        return complete("kernel", name, start_ns, dur_ns, pid=device, tid=stream, **own)

    return [
        on_host("user_annotation", "ProfilerStep#1", 1_000, 5_000),
        on_host("cpu_op", "aten::mm", 1_100, 100),
        on_host("cuda_runtime", "launch mm", 1_120, 10, correlation=5),
        on_device("gemm", 1_150, 500, 5),
        on_host("cpu_op", "aten::add", 1_300, 100),
        on_host("cuda_runtime", "launch add", 1_320, 10, correlation=6),
        on_device("add", 1_650, 50, 6),
    ]


def tracks(reading: Reading) -> list[tuple[str, str, str]]:
    rows = sorted(reading.rows("tracks"), key=lambda row: row["order"])
    return [(row["kind"], row["process"], row["name"].strip()) for row in rows]


def test_a_thread_and_a_stream_of_the_same_numbers_are_two_tracks(tmp_path: Path) -> None:
    events = announced(7, stream=7, thread=7) + work(pid=7, thread=7, device=7, stream=7)
    reading = opened(tmp_path, events)
    assert tracks(reading) == [("host", "python CPU", "thread 7"), ("stream", "python GPU 7", "stream 7")]
    names = {number: row["name"] for number, row in reading.slices.items()}
    parents = {row["name"]: names.get(row["parent"]) for row in reading.rows("slices")}
    assert parents == {
        "ProfilerStep#1": None,
        "aten::mm": "ProfilerStep#1",
        "launch mm": "aten::mm",
        "gemm": None,
        "aten::add": "ProfilerStep#1",
        "launch add": "aten::add",
        "add": None,
    }
    owners = {row["name"]: row["operator"] for row in reading.rows("slices") if row["kind"] == "kernel"}
    assert owners == {"gemm": "aten::mm", "add": "aten::add"}
    assert reading.rows("ranks")[0]["device_kind"] == "gpu"


def test_a_process_with_the_number_of_a_device_in_use_keeps_its_own_name(tmp_path: Path) -> None:
    events = announced(3, stream=9, thread=3) + work(pid=3, thread=3, device=3, stream=9)
    expected = [("host", "python CPU", "thread 3 (python)"), ("stream", "python GPU 3", "stream 9")]
    assert tracks(opened(tmp_path, events)) == expected


def test_a_process_with_the_number_of_an_unused_device_keeps_its_own_name(tmp_path: Path) -> None:
    events = announced(7, stream=99, thread=7) + work(pid=7, thread=7, device=0, stream=20)
    found = tracks(opened(tmp_path, events))
    assert ("host", "python CPU", "thread 7 (python)") in found
    assert [process for kind, process, _ in found if kind == "stream"] == ["python GPU 0"]
    assert found[0][0] == "host"  # before the devices, as the writer sorts them


def test_without_any_names_a_thread_and_a_stream_are_still_apart(tmp_path: Path) -> None:
    reading = opened(tmp_path, work(pid=0, thread=0, device=0, stream=0))
    assert {(kind, name) for kind, _, name in tracks(reading)} == {("host", "thread 0"), ("stream", "stream 0")}
