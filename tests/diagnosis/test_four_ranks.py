"""Slow ranks that were planted in real jobs, and a healthy one: PyTorch over gloo, on a CPU and on a GPU."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

import stepscope
from stepscope.diagnosis.finding import Finding
from support.recordings import DATA, capture_of, facts_of

RECORDINGS = sorted(path.name.removesuffix(".clock.json") for path in DATA.glob("four_ranks_*.clock.json"))
FAULTY = [name for name in RECORDINGS if not name.endswith("_healthy")]


def _accused(name: str, folder: Path) -> list[Finding]:
    return [
        finding
        for finding in stepscope.load(capture_of(name, folder)).diagnose().findings
        if finding.kind == "slow_rank"
    ]


@pytest.mark.parametrize("name", FAULTY)
def test_the_slow_ranks_are_named_with_their_cause(name: str, tmp_path: Path) -> None:
    planted = facts_of(name)["fault"]
    (finding,) = _accused(name, tmp_path)
    assert (finding.ranks, finding.cause) == (planted["ranks"], planted["cause"])
    assert finding.severity in ("warning", "critical")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_why_a_rank_is_slow_is_reported_in_its_finding_and_not_in_a_second_one(device: str, tmp_path: Path) -> None:
    name = f"four_ranks_{device}_slow_data"
    findings = stepscope.load(capture_of(name, tmp_path)).diagnose().findings
    assert findings[0].kind == "slow_rank"
    assert findings[0].where.pipeline_op == "DataLoader"
    # What all ranks have, such as copies from pageable memory, is another matter.
    assert not [finding for finding in findings if finding.kind == "data_starved" and finding.ranks == [1]]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_rank_that_is_slow_by_its_host_stands_first_and_the_others_are_no_part_of_it(
    device: str, tmp_path: Path
) -> None:
    findings = stepscope.load(capture_of(f"four_ranks_{device}_slow_host", tmp_path)).diagnose().findings
    assert (findings[0].kind, findings[0].ranks) == ("slow_rank", [3])
    assert not [finding for finding in findings if finding.kind == "host_bound" and 3 in finding.ranks]


def test_a_title_gives_the_share_of_all_its_ranks_as_its_evidence_does(tmp_path: Path) -> None:
    findings = stepscope.load(capture_of("four_ranks_cuda_slow_compute", tmp_path)).diagnose().findings
    (products,) = [finding for finding in findings if finding.kind == "precision_headroom"]
    assert products.ranks == [0, 1, 2, 3]
    share = next(entry.value for entry in products.evidence if entry.metric == "full_precision_share")
    assert f"take {100 * share:.1f}% of the step" in products.title.en
    assert f"{100 * share:.1f}%" in products.title.zh


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_no_rank_of_a_healthy_job_is_accused(device: str, tmp_path: Path) -> None:
    assert _accused(f"four_ranks_{device}_healthy", tmp_path) == []


def test_a_host_that_computes_by_itself_has_no_bandwidth_that_transfers_and_kernels_could_share(tmp_path: Path) -> None:
    findings = stepscope.load(capture_of("four_ranks_cpu_healthy", tmp_path)).diagnose().findings
    assert "bandwidth_contention" not in [finding.kind for finding in findings]


@pytest.mark.parametrize("name", RECORDINGS)
def test_periods_are_those_of_the_loops_own_clock(name: str, tmp_path: Path) -> None:
    run = stepscope.load(capture_of(name, tmp_path))
    mean_us = {entry.rank: entry.period_us for entry in run.summary().ranks}
    for own in facts_of(name)["ranks"]:
        recorded = [step for step in own["steps"] if step["step"] in own["recorded"]]
        by_clock = statistics.fmean(step["ended_ns"] - step["began_ns"] for step in recorded) / 1000
        assert mean_us[own["rank"]] == pytest.approx(by_clock, rel=0.03)


def test_what_slow_ranks_compute_beyond_others_is_promised_once(tmp_path: Path) -> None:
    """Their additional products are of 32 bits, too: half precision is told with what it gains on the others."""
    found = stepscope.load(capture_of("four_ranks_cuda_two_slow", tmp_path)).diagnose()
    told = {finding.kind: finding for finding in found.findings}
    assert {"slow_rank", "precision_headroom"} <= set(told)
    assert sum(finding.gain_share or 0.0 for finding in found.findings if finding.accuses) < 1
    # A healthy job of the same program computes 15 ms of its 34, and no kernel gains more than it takes.
    assert (told["precision_headroom"].gain_us or 0.0) < 15_000
