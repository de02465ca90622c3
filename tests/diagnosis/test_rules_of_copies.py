"""Rules on copies: hand-made loops of 100 us a step, in which the device copies for 40 us and computes for 60 us."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.launch_cases import STREAM, US, Case
from diagnosis.cases import STEP, STEPS
from stepscope.diagnosis.diagnose import work_out

_COPY = 40
OTHER_STREAM = STREAM + 1


def _copying(name: str, *, beside: bool = False, computing: int = STEP - _COPY) -> Case:
    """Each step a copy, then a kernel; or both at the same time, on two streams."""
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        for at, (start, end), stream, kernel in (
            (begin, (begin + 1, begin + _COPY), OTHER_STREAM if beside else STREAM, False),
            (begin + 1, (begin + 1 if beside else begin + _COPY, begin + _COPY + computing), STREAM, True),
        ):
            call = case.slice("cudaLaunchKernel" if kernel else "cudaMemcpyAsync", "runtime", at, at + 0.5, step=number)
            work = case.slice(
                "gemm" if kernel else name, "kernel" if kernel else "copy", start, end, stream, step=number
            )
            case.link("launch", call, work)
    return case


@pytest.mark.parametrize(
    ("name", "kind", "cause", "advises"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "data_starved", "transfer", "pin_memory=True"),
        ("Memcpy HtoD (Pinned -> Device)", "data_starved", "transfer", "Copy the next batch while"),
        ("Memcpy DtoH (Device -> Pageable)", "sync_stall", "copy", "pinned memory"),
        ("Memcpy DtoH (Device -> Pinned)", "sync_stall", "copy", "Copy results on a separate stream"),
    ],
)
def test_copies_that_run_alone_are_accused_by_their_direction(
    tmp_path: Path, name: str, kind: str, cause: str, advises: str
) -> None:
    diagnosis = work_out(_copying(name).store(tmp_path))
    (finding,) = [finding for finding in diagnosis.findings if finding.accuses]
    assert (finding.kind, finding.cause, finding.where.operator) == (kind, cause, name)
    assert finding.severity == "critical"  # 39 of 100 us
    assert advises in finding.advice.en
    share = {evidence.metric: evidence.value for evidence in finding.evidence}
    assert share["exposed_copy_share"] == pytest.approx(0.39, abs=0.01)
    assert share["pageable_copy_share"] == ("Pageable" in name)
    assert finding.gain_us == pytest.approx(39, abs=1)  # the computing is long enough to hide them
    assert finding.proof[0].slices


@pytest.mark.parametrize("around", ["c10d::allreduce_", "gloo:all_reduce", "aten::to"])
def test_copies_for_a_collective_of_the_host_are_not_the_steps_input(tmp_path: Path, around: str) -> None:
    case = _copying("Memcpy HtoD (Pinned -> Device)")
    for call in [one for one in case.slices if one["name"] == "cudaMemcpyAsync"]:
        begin = call["start_ns"] / US
        case.slice(around, "operator", begin, begin + 0.75, step=call["step"])
        case.slices[-1]["row"], call["row"] = call["row"], call["row"] + 1
    accused = [finding.kind for finding in work_out(case.store(tmp_path)).findings if finding.accuses]
    assert accused == (["data_starved"] if around == "aten::to" else [])


@pytest.mark.parametrize("name", ["Memcpy DtoD (Device -> Device)", "Memset (Device)", "MEMCPY_ASYNC"])
def test_copies_within_the_device_or_of_unknown_direction_accuse_nobody(tmp_path: Path, name: str) -> None:
    kinds = {finding.kind for finding in work_out(_copying(name).store(tmp_path)).findings if finding.accuses}
    assert not kinds & {"data_starved", "sync_stall"}


def test_where_all_copies_have_one_name_their_operator_tells_the_direction(tmp_path: Path) -> None:
    """As on Ascend, where each copy is a MEMCPY_ASYNC."""
    case = _copying("MEMCPY_ASYNC")
    for row in case.slices:
        row["operator"] = "acl_memcpy_host_to_device" if row["kind"] == "copy" else None
    (finding,) = [finding for finding in work_out(case.store(tmp_path)).findings if finding.accuses]
    assert (finding.kind, finding.cause) == ("data_starved", "transfer")
    assert finding.gain_us == pytest.approx(39, abs=1)


def test_copies_beside_computing_accuse_nobody(tmp_path: Path) -> None:
    diagnosis = work_out(_copying("Memcpy HtoD (Pageable -> Device)", beside=True).store(tmp_path))
    assert not [finding for finding in diagnosis.findings if finding.kind == "data_starved"]


def test_where_copying_takes_longer_than_computing_hiding_it_saves_the_computing_only(tmp_path: Path) -> None:
    diagnosis = work_out(_copying("Memcpy HtoD (Pinned -> Device)", computing=10).store(tmp_path))
    (finding,) = [finding for finding in diagnosis.findings if finding.kind == "data_starved"]
    assert finding.gain_us == pytest.approx(10)


def test_copies_from_pinned_memory_would_be_as_fast_as_the_link_of_the_device_allows(tmp_path: Path) -> None:
    """An H200 has 16 lanes of PCI Express 5: 63 GB/s, of which three quarters are 10 us for these bytes."""
    case = _copying("Memcpy HtoD (Pageable -> Device)", computing=10)
    for row in case.slices:
        row["bytes"] = 472_500 if row["kind"] == "copy" else None
    store = case.store(tmp_path, device_name="NVIDIA H200", device_kind="gpu")
    (finding,) = [finding for finding in work_out(store).findings if finding.kind == "data_starved"]
    assert finding.gain_us == pytest.approx(29 + 10), "29 us shorter, and hidden behind 10 us of computing"


@pytest.mark.parametrize(("back", "offloaded"), [(1 << 30, True), (1 << 29, False)])
def test_what_goes_to_the_host_and_comes_back_is_one_finding(tmp_path: Path, back: int, offloaded: bool) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        for start, end, name, size in (
            (begin + 1, begin + 20, "gemm", None),
            (begin + 20, begin + 60, "Memcpy DtoH (Device -> Pinned)", 1 << 30),
            (begin + 60, begin + STEP, "Memcpy HtoD (Pinned -> Device)", back),
        ):
            call = case.slice("cudaMemcpyAsync", "runtime", begin, begin + 0.5, step=number)
            kind = "copy" if size else "kernel"
            case.link("launch", call, case.slice(name, kind, start, end, STREAM, step=number, bytes=size))
    found = [finding for finding in work_out(case.store(tmp_path)).findings if finding.accuses]
    if not offloaded:
        assert {(finding.kind, finding.cause) for finding in found} == {
            ("data_starved", "transfer"),
            ("sync_stall", "copy"),
        }
        return
    (finding,) = found
    assert (finding.kind, finding.cause) == ("data_starved", "offload")
    assert finding.gain_us == pytest.approx(80, abs=1)  # left on the device, neither copy is needed
    assert "80.0% of the step" in finding.title.en
    assert {evidence.metric: evidence.value for evidence in finding.evidence}["offloaded_bytes"] == 1 << 30
