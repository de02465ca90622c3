"""What is known of real captures from elsewhere: who is slow, what ran out, and who must not be accused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from stepscope.diagnosis.finding import Diagnosis
from support.samples import open_sample


def _diagnosed(shared_data: Path, capture: str, window: str | None = None) -> Diagnosis:
    return open_sample(shared_data / capture, window).diagnose()


def test_a_host_that_runs_ahead_is_not_accused(shared_data: Path) -> None:
    found = _diagnosed(shared_data, "kineto/gpt_fp32_snap.json.gz")
    accused = [finding for finding in found.findings if finding.accuses]
    assert [(finding.kind, finding.confidence) for finding in accused] == [("precision_headroom", "likely")]
    # 137.2 of 179.4 ms of kernel time are products of 32 bits on ordinary units; the rest cannot be saved.
    assert 0.5 < (accused[0].gain_share or 0) < 137.2 / 179.4
    assert "host_bound" in found.verdict.checked


def test_faster_kernels_gain_little_on_a_device_that_waits_for_its_host(shared_data: Path) -> None:
    told = {finding.kind: finding for finding in _diagnosed(shared_data, "kineto/h200_graph.json.gz").findings}
    # 72.9 % of the critical path is the host's.
    assert (told["precision_headroom"].gain_share or 1.0) < 1 - 0.729
    assert told["precision_headroom"].gain_method == "replay"


def test_nobody_promises_what_copies_beside_nothing_would_gain(shared_data: Path) -> None:
    (copies,) = _diagnosed(shared_data, "outside/nsys/h100_2gpu_1s.sqlite").findings
    assert (copies.kind, copies.severity, copies.gain_us, copies.gain_method) == ("data_starved", "warning", None, None)


def test_the_slow_rank_is_named(shared_data: Path) -> None:
    found = _diagnosed(shared_data, "kineto/ddp4")
    worst = found.findings[0]
    assert (worst.kind, worst.ranks, worst.cause, found.verdict.finding) == ("slow_rank", [2], "compute", worst.id)


def test_gradients_that_gloo_copies_through_the_host_are_no_input_of_the_step(shared_data: Path) -> None:
    """Its only copies between host and device were launched by ``gloo:all_reduce`` and ``c10d::allreduce_``."""
    found = {finding.kind: finding for finding in _diagnosed(shared_data, "kineto/ddp4").findings}
    assert set(found) == {"slow_rank", "exposed_communication"}
    assert "gloo" in found["exposed_communication"].advice.en and "nccl" in found["exposed_communication"].advice.zh


@pytest.mark.parametrize("capture", ["outside/tracelens/gpu_only_mi210.json.gz", "kineto/h200_graph.json.gz"])
def test_nobody_says_what_a_host_did_of_which_only_calls_of_the_runtime_are_recorded(
    shared_data: Path, capture: str
) -> None:
    with gzip.open(shared_data / capture) as file:
        categories = {event.get("cat") for event in json.load(file)["traceEvents"]}
    assert not categories & {"cpu_op", "python_function"}
    (host,) = [finding for finding in _diagnosed(shared_data, capture).findings if finding.kind == "host_bound"]
    assert host.cause == "unknown" and "not recorded" in host.title.en and "CPU" in host.advice.zh


def test_two_ranks_of_a_job_of_unknown_size_do_not_tell_transfer_from_waiting(shared_data: Path) -> None:
    """Of its all-reduces one of 16 MB takes 73 ms, one of 151 MB 2.5 ms: most is waiting for ranks nobody recorded."""
    worst = _diagnosed(shared_data, "outside/msinsight/text_level0").findings[0]
    assert (worst.kind, worst.cause) == ("exposed_communication", "not_hidden")
    assert "Record all ranks" in worst.advice.en


@pytest.mark.parametrize("window", ["text_level1", "db_level1"])
def test_the_way_to_a_rank_that_others_wait_for_leads_through_their_waiting(shared_data: Path, window: str) -> None:
    """HCCL's own times of both captures say that nearly all of its calls is waiting."""
    found = _diagnosed(shared_data, "ascend", window)
    (asked,) = [step for step in found.path if step.question == "waiting"]
    assert asked.answer == "yes" and asked.findings == [found.findings[0].id]


def test_of_faults_that_hide_each_other_the_one_that_helps_alone_is_reported_first(shared_data: Path) -> None:
    found = _diagnosed(shared_data, "outside/hta/world128")
    assert found.findings[0].kind == "host_bound" and found.verdict.finding == found.findings[0].id
    assert " 0 ns" not in found.verdict.sentence.en


@pytest.mark.parametrize(("window", "peer"), [("text_level1", 5), ("db_level1", 6)])
def test_ranks_wait_in_communication_for_one_that_was_not_captured(shared_data: Path, window: str, peer: int) -> None:
    # The peer is that of the longest Notify_Wait in the vendor's own files.
    found = _diagnosed(shared_data, "ascend", window)
    worst = found.findings[0]
    assert (worst.kind, worst.ranks, worst.cause) == ("slow_rank", [peer], "not_captured")
    assert "communication" in found.verdict.sentence.en and "通信" in found.verdict.sentence.zh


def test_memory_that_ran_out_comes_before_all_else(shared_data: Path) -> None:
    found = _diagnosed(shared_data, "memory/cuda_snapshot_expandable.pickle")
    assert (found.findings[0].kind, found.findings[0].cause) == ("memory_pressure", "out_of_memory")
    assert found.verdict.severity == "critical"
    leaking = [finding for finding in found.findings if finding.kind == "memory_leak"]
    assert leaking and all(finding.confidence == "suspect" for finding in leaking), "six steps allow no more"


def test_a_pipeline_that_starves_is_named_with_its_stage(shared_data: Path) -> None:
    found = _diagnosed(shared_data, "mindinsight/profiler")
    assert (found.findings[0].kind, found.findings[0].cause) == ("data_starved", "processing")
    pipeline = open_sample(shared_data / "mindinsight" / "profiler").pipeline()
    assert found.findings[0].where.pipeline_op == pipeline.verdict.op_name


@pytest.mark.parametrize("capture", ["kineto/ddp4", "ascend", "mindinsight/run_2", "memory", "outside/tb_plugin"])
def test_every_proof_and_every_sentence_is_there(shared_data: Path, capture: str) -> None:
    run = open_sample(shared_data / capture)
    found = run.diagnose()
    slices = {rank: set(run.table("slices", [rank]).select("slice").collect()["slice"]) for rank in run.ranks}
    for finding in found.findings:
        assert finding.title.en and finding.title.zh and finding.advice.en and finding.advice.zh
        assert (finding.gain_us is None) == (finding.gain_method is None)
        assert finding.gain_share is None or 0 < finding.gain_share <= 1
        for proof in finding.proof:
            assert set(proof.slices) <= slices[proof.rank]
            assert proof.start_ns is None or (proof.end_ns is not None and proof.end_ns >= proof.start_ns)


def test_phases_recorded_as_one_slice_say_nothing_about_kernels_or_the_host(shared_data: Path) -> None:
    found = _diagnosed(shared_data, "cluster/ndtimeline")
    unchecked = {entry.kind: entry.needs.en for entry in found.not_checked}
    assert {"kernel_fusion", "precision_headroom", "layout_conversion", "cpu_fallback", "tail_long"} <= set(unchecked)
    assert unchecked["sync_stall"] == unchecked["host_bound"]
    assert {"stage_imbalance", "pipeline_bubble", "gc_pause"} <= set(found.verdict.checked)


@pytest.mark.parametrize(
    ("trace", "kind", "measured_s", "without_s"),
    # Origin: the authors' results beside the traces (cluster/README.md): the step as it was, and without the fault.
    [("AR", "slow_rank", 46.336, 23.446), ("ST", "stage_imbalance", 2.1727, 1.7710)],
)
def test_gains_of_published_jobs_are_those_of_their_authors(
    shared_data: Path, trace: str, kind: str, measured_s: float, without_s: float
) -> None:
    first = _diagnosed(shared_data, f"cluster/ndtimeline/trace-{trace}.parquet").findings[0]
    assert (first.kind, first.gain_method) == (kind, "operation_replay")
    assert first.gain_share == pytest.approx(1 - without_s / measured_s, abs=0.01)


def test_what_stands_behind_a_cheaper_reason_says_so(shared_data: Path) -> None:
    slow, exposed = _diagnosed(shared_data, "kineto/ddp4").findings
    assert (slow.gain_us or 0) < (exposed.gain_us or 0)
    assert (slow.comes_after, exposed.comes_after) == ([], [slow.id])


def test_remedies_are_told_apart_from_what_no_recording_of_the_job_would_show(shared_data: Path) -> None:
    found = {entry.kind: entry.recordable for entry in _diagnosed(shared_data, "kineto/h200_plain.json.gz").not_checked}
    assert found["memory_leak"]
    assert not any(found[kind] for kind in ("slow_rank", "pipeline_bubble", "frequency_drop", "small_packets", "hang"))
    of_npu = _diagnosed(shared_data, "outside/msinsight/text_level0").not_checked
    assert "small_packets" in {entry.kind for entry in of_npu if entry.recordable}
