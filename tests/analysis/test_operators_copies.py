"""Copies: bandwidth is total bytes over total time, per kind."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.captures import opened
from analysis.stores import make_store
from stepscope.analysis.copies import Copies, copies, copy_kind
from stepscope.errors import NoAnswerError

_TO_DEVICE = "Memcpy HtoD (Pageable -> Device)"


def _copy(name: str, dur: int, size: int | None, **more: Any) -> dict[str, Any]:
    return {"kind": "copy", "name": name, "start_ns": 0, "dur_ns": dur, "bytes": size, "step": 1, **more}


def test_bandwidth_is_total_bytes_over_total_time(tmp_path: Path) -> None:
    # 10 and 1 bytes per ns: their mean would be 5.5, but 1,200 bytes took 300 ns.
    slices = [_copy(_TO_DEVICE, 100, 1000), _copy(_TO_DEVICE, 200, 200), _copy("Memset (Device)", 100, 50)]
    answer = copies(make_store(tmp_path, slices=slices))
    msgspec.convert(answer.plain(), list[Copies])
    first, second = answer.plain()
    assert (first["kind"], first["pageable"], first["count"], first["bytes"]) == ("host_to_device", True, 2, 1200)
    assert first["bandwidth_bytes_per_s"] == 4e9
    assert (first["min_bytes"], first["max_bytes"], first["share"]) == (200, 1000, 0.75)
    assert (second["kind"], second["pageable"], second["bandwidth_bytes_per_s"]) == ("set", False, 5e8)


def test_copies_without_size_do_not_spoil_the_bandwidth(tmp_path: Path) -> None:
    slices = [_copy(_TO_DEVICE, 100, 400), _copy(_TO_DEVICE, 900, None), _copy("Memcpy DtoD", 0, 8)]
    answer = copies(make_store(tmp_path, slices=slices))
    rows = {row["kind"]: row for row in answer.plain()}
    assert rows["host_to_device"]["bandwidth_bytes_per_s"] == 4e9
    assert (rows["host_to_device"]["count"], rows["host_to_device"]["sized"]) == (2, 1)
    assert rows["device_to_device"]["bandwidth_bytes_per_s"] is None  # no time
    (note,) = answer.notes
    assert (note.code, note.count) == ("copies_without_size", 1)


def test_the_direction_may_stand_in_type_arguments_or_operator(tmp_path: Path) -> None:
    slices = [
        _copy("MEMCPY_ASYNC", 1, 1, type="device to host"),
        _copy("MEMCPY_ASYNC", 2, 1),
        _copy("MEMCPY_ASYNC", 3, 1, operator="acl_memcpy_host_to_device"),
        _copy("MEMCPY_ASYNC", 4, 1),
    ]
    details = [{"slice": 1, "json": '{"Task Type": "SDMA", "memcpy direction": "device to device"}'}]
    rows = copies(make_store(tmp_path, slices=slices, details=details)).plain()
    assert [row["kind"] for row in rows] == ["unknown", "host_to_device", "device_to_device", "device_to_host"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Memcpy DtoH (Device -> Pinned)", "device_to_host"),
        ("Memcpy PtoP (Device -> Device)", "peer_to_peer"),
        ("Memcpy DtoD (Device -> Device)", "device_to_device"),
        ("CopyHostToDevice", "host_to_device"),
        (
            "zeCommandListAppendMemoryCopy(M2D)",
            "host_to_device",
        ),  # as Intel's PTI names them: M is memory of the system
        ("zeCommandListAppendMemoryCopy(D2M)[1572864]", "device_to_host"),
        ("zeCommandListAppendMemoryCopy(D2D)", "device_to_device"),
        ("zeCommandListAppendMemoryFill[16]", "set"),
        ("SDMA_SQE", None),
    ],
)
def test_kinds(name: str, kind: str | None) -> None:
    assert copy_kind(name) == kind


def test_a_run_without_copies_has_no_answer(tmp_path: Path) -> None:
    store = make_store(tmp_path, slices=[_copy(_TO_DEVICE, 1, 1)])
    with pytest.raises(NoAnswerError):
        copies(store, steps=[7])


def test_a_real_capture_against_the_files_own_bytes(shared_data: Path) -> None:
    file = shared_data / "kineto" / "h200_plain.json.gz"
    with gzip.open(file) as content:
        events = json.load(content, parse_float=Decimal)["traceEvents"]
    sums: dict[str, list[Decimal]] = defaultdict(lambda: [Decimal(), Decimal()])
    for event in events:
        if event.get("cat") in ("gpu_memcpy", "gpu_memset"):
            sums[event["name"]][0] += event["args"]["bytes"]
            sums[event["name"]][1] += Decimal(event["dur"])
    rows = {row["name"]: row for row in copies(opened("kineto/h200_plain.json.gz")).plain()}
    assert set(rows) == set(sums)
    for name, (size, time) in sums.items():
        assert rows[name]["bytes"] == size
        assert rows[name]["bandwidth_bytes_per_s"] == pytest.approx(float(size / time) * 1e6)
