"""Rules on what the device computes: hand-made steps of 1,000 us, always busy, with a fault of known length in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.launch_cases import LOOP, STREAM, US, Case
from analysis.stores import make_store
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Diagnosis, Finding
from stepscope.diagnosis.verdict import verdict_on
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore

STEP, STEPS = 1000, 4
H200 = {"rank": 0, "device_kind": "gpu", "device_name": "NVIDIA H200"}
GEMM = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT"
MULTIPLY = "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>(int)"
COPY = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<direct_copy_kernel_cuda>>(int)"
CAST = "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda>(int)"


@dataclass(frozen=True)
class Kernel:
    """A kernel of a step."""

    name: str
    us: float
    operator: str = "aten::mm"
    phase: str = "forward"
    more: dict[str, Any] = field(default_factory=dict)


def _store(directory: Path, kernels: Sequence[Kernel], rank: dict[str, Any] | None = None) -> RunStore:
    """Each step runs these kernels one after the other; a matrix product fills the rest of it."""
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        rest = Kernel(GEMM, STEP - sum(kernel.us for kernel in kernels))
        behind = [kernel for kernel in kernels if kernel.phase != "forward"]
        before = [kernel for kernel in kernels if kernel.phase == "forward"]
        at = float(begin)
        for kernel in (*before, rest, *behind):
            call = case.slice("cudaLaunchKernel", "runtime", begin, begin + 1, step=number)
            facts = {"operator": kernel.operator, "phase": kernel.phase, "step": number, **kernel.more}
            task = case.slice(kernel.name, "kernel", at, at + kernel.us, track=STREAM, **facts)
            case.link("launch", call, task)
            at += kernel.us
    return _stored(directory, case, rank or H200)


def _stored(directory: Path, case: Case, rank: dict[str, Any], **tables: Any) -> RunStore:
    tracks = [
        {"track": LOOP, "kind": "host", "name": "thread 1", "thread": "1", "order": 0},
        {"track": STREAM, "kind": "stream", "name": "stream 7", "thread": "7", "order": 1},
        *tables.pop("tracks", []),
    ]
    slices = sorted(case.slices, key=lambda row: (row["track"], row["row"], row["start_ns"]))
    return make_store(
        directory, slices=slices, links=case.links, steps=case.steps, tracks=tracks, ranks=[rank], **tables
    )


def _accused(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.accuses]


def _only(diagnosis: Diagnosis) -> Finding:
    (finding,) = _accused(diagnosis)
    return finding


def test_a_busy_step_of_one_product_is_healthy(tmp_path: Path) -> None:
    assert work_out(_store(tmp_path, [])).verdict.severity == "healthy"


def test_copies_into_another_layout_cost_what_they_take(tmp_path: Path) -> None:
    finding = _only(work_out(_store(tmp_path, [Kernel(COPY, 150, "aten::contiguous"), Kernel("nchwToNhwcKernel", 50)])))
    assert (finding.kind, finding.cause, finding.where.operator) == ("layout_conversion", "layout", "aten::contiguous")
    assert finding.gain_us == pytest.approx(200)
    assert finding.gain_share == pytest.approx(0.2)
    assert finding.proof[0].start_ns == STEP * US and finding.proof[0].end_ns == (STEP + 150) * US
    assert finding.proof[0].slices


def test_who_asks_for_a_conversion_is_named(tmp_path: Path) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        operators = ("autograd::engine::evaluate_function: X", "aten::group_norm", "aten::contiguous", "aten::copy_")
        around = [case.slice(name, "operator", begin, begin + 10, step=number) for name in operators]
        for outer, inner in pairwise(around):
            case.slices[inner]["parent"] = outer
        call = case.slice("cudaLaunchKernel", "runtime", begin + 1, begin + 2, step=number, parent=around[-1])
        copy = case.slice(
            COPY, "kernel", begin + 2, begin + 202, track=STREAM, step=number, operator="aten::copy_", phase="forward"
        )
        case.link("launch", call, copy)
        case.launch((begin + 3, begin + 4), (begin + 202, begin + STEP + 2), step=number, name=GEMM)
    findings = _accused(work_out(_stored(tmp_path, case, H200)))
    titles = [finding.title.en for finding in findings if finding.kind == "layout_conversion"]
    assert len(titles) == 1 and "aten::group_norm → aten::copy_" in titles[0]


@pytest.mark.parametrize(
    ("around", "told"),
    [((), []), (("aten::contiguous",), ["aten::contiguous"]), (("aten::reshape",), ["aten::reshape"])],
)
def test_a_clone_on_a_cpu_converts_only_where_another_layout_is_asked_for(
    tmp_path: Path, around: tuple[str, ...], told: list[str]
) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        more: dict[str, Any] = {"step": number, "phase": "forward"}
        names = (*around, "aten::clone", "aten::copy_")
        nested = [case.slice(name, "operator", begin, begin + 200, operator=name, **more) for name in names]
        for outer, inner in pairwise(nested):
            case.slices[inner]["parent"] = outer
        case.slice("aten::mm", "operator", begin + 200, begin + STEP, operator="aten::mm", **more)
    found = work_out(_stored(tmp_path, case, {"rank": 0, "device_kind": "cpu"})).findings
    assert [each.where.operator for each in found if each.kind == "layout_conversion"] == told
    assert [each.gain_us for each in found if each.kind == "layout_conversion"] == [200.0] * len(told)


def test_few_conversions_are_no_fault(tmp_path: Path) -> None:
    assert _accused(work_out(_store(tmp_path, [Kernel(COPY, 30, "aten::contiguous")]))) == []


@pytest.mark.parametrize(("us", "told"), [(90, []), (110, ["cast"])])
def test_casts_are_told_from_ten_percent_on(tmp_path: Path, us: float, told: list[str]) -> None:
    findings = _accused(work_out(_store(tmp_path, [Kernel(CAST, us, "aten::copy_")])))
    assert [finding.cause for finding in findings] == told


def test_rows_of_elementwise_kernels_could_be_as_long_as_their_longest(tmp_path: Path) -> None:
    kernels = [Kernel(MULTIPLY, us, "aten::mul") for us in (40, 30, 40, 20, 30)]
    finding = _only(work_out(_store(tmp_path, kernels)))
    assert (finding.kind, finding.where.operator) == ("kernel_fusion", "aten::mul")
    assert finding.gain_us == pytest.approx(120)  # 160 less the longest


def _update(operator: str, us: float) -> Kernel:
    return Kernel(MULTIPLY, us, operator, phase="optimizer")


def test_a_fused_update_still_works_on_every_parameter(tmp_path: Path) -> None:
    """Two parameters, the second four times as large, three passes over each: fused, one pass over each is left."""
    kernels = [
        _update(operator, us)
        for passes in ((20, 25, 30), (80, 100, 120))
        for operator, us in zip(("aten::mul_", "aten::lerp_", "aten::addcdiv_"), passes, strict=True)
    ]
    finding = _only(work_out(_store(tmp_path, kernels)))
    assert (finding.kind, finding.cause) == ("kernel_fusion", "optimizer")
    # 375 us less the longest passes, 30 and 120; the 5 us that a kernel takes at least are spent once.
    assert finding.gain_us == pytest.approx(375 - (25 + 115 + 5))


def test_one_pass_over_each_of_many_large_parameters_has_nothing_to_fuse(tmp_path: Path) -> None:
    """As the updates of embedding tables by plain gradient descent."""
    assert _accused(work_out(_store(tmp_path, [_update("aten::add_", us) for us in (100, 90, 80, 70)]))) == []


def test_many_tiny_updates_could_be_one_kernel(tmp_path: Path) -> None:
    """Forty kernels of 5 us, which is what the shortest take: one is left."""
    finding = _only(work_out(_store(tmp_path, [_update("aten::add_", 5)] * 40)))
    assert (finding.kind, finding.cause) == ("kernel_fusion", "optimizer")
    assert finding.gain_us == pytest.approx(195)


def test_remarks_as_large_as_a_problem_are_not_called_nothing(tmp_path: Path) -> None:
    problem = _only(work_out(_store(tmp_path, [Kernel(COPY, 70, "aten::contiguous")])))
    remark = msgspec.structs.replace(problem, severity="info")
    told = verdict_on([remark], [*finding_facts().kinds])
    assert (told.severity, told.finding) == ("healthy", None)
    assert "70 µs" in told.sentence.en and "7.0%" in told.sentence.en
    assert "70 µs" in told.sentence.zh and "7.0%" in told.sentence.zh


_SCORES = [
    Kernel("elementwise_kernel<div_true_kernel>", 60, "aten::div"),
    Kernel(CAST, 80, "aten::copy_"),
    Kernel("softmax_warp_forward<float>", 100, "aten::_softmax"),
]


def test_what_lies_between_the_products_of_attention_is_saved_by_fusing_it(tmp_path: Path) -> None:
    finding = _only(
        work_out(_store(tmp_path, [Kernel(GEMM, 90, "aten::bmm"), *_SCORES, Kernel(GEMM, 90, "aten::bmm")]))
    )
    assert (finding.kind, finding.cause, finding.where.operator) == ("kernel_fusion", "attention", "aten::_softmax")
    assert finding.gain_us == pytest.approx(240)  # the products stay, and the cast is told with the rest of it
    assert finding.gain_share == pytest.approx(0.24)


@pytest.mark.parametrize("products", [("aten::mm", "aten::mm"), ("aten::bmm", "aten::mm"), ("aten::mm", "aten::bmm")])
def test_a_softmax_between_other_products_is_no_attention(tmp_path: Path, products: tuple[str, str]) -> None:
    before, after = (Kernel(GEMM, 90, operator) for operator in products)
    assert _accused(work_out(_store(tmp_path, [before, *_SCORES, after]))) == []


def test_three_elementwise_kernels_in_a_row_are_usual(tmp_path: Path) -> None:
    assert _accused(work_out(_store(tmp_path, [Kernel(MULTIPLY, 50, "aten::mul")] * 3))) == []


def test_work_behind_backward_is_the_tail_and_the_update_is_none(tmp_path: Path) -> None:
    update = Kernel("multi_tensor_apply_kernel<FusedAdam>", 200, "aten::_fused_adamw_", "optimizer")
    clip = Kernel("multi_tensor_apply_kernel<LpNormFunctor>", 100, "aten::_foreach_norm", "optimizer")
    backward = Kernel(GEMM, 100, phase="backward")
    finding = _only(work_out(_store(tmp_path, [backward, update, clip])))
    assert (finding.kind, finding.where.operator) == ("tail_long", "aten::_foreach_norm")
    assert finding.gain_us == pytest.approx(100)


def test_products_in_32_bits_would_take_the_time_of_16_bits(tmp_path: Path) -> None:
    sgemm = "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt_sgemm)"
    finding = _only(work_out(_store(tmp_path, [Kernel(sgemm, 500)])))
    assert finding.kind == "precision_headroom"
    # Without shapes, by the published rates of an H200: 66.9 TFLOPS in 32 bits, 989.4 in 16.
    assert finding.gain_us == pytest.approx(500 * (1 - 66.9 / 989.4), rel=1e-6)


@pytest.mark.parametrize(
    "name",
    [  # as an H200 ran them
        "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize64x64x32_stage3_warpsize2x2x1_tensor16x8x16",
        "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1>(Params)",
    ],
)
def test_products_in_64_bits_are_told_as_such_also_on_tensor_cores(tmp_path: Path, name: str) -> None:
    finding = _only(work_out(_store(tmp_path, [Kernel(name, 500)])))
    assert (finding.kind, finding.cause) == ("precision_headroom", "double_precision")
    # By the published rates of an H200: 33.5 TFLOPS in 64 bits, 989.4 in 16.
    assert finding.gain_us == pytest.approx(500 * (1 - 33.5 / 989.4), rel=1e-6)
    assert "64 bits" in finding.title.en and "float64" in finding.advice.en and "float64" in finding.advice.zh


def test_an_operator_on_the_npus_processor_is_a_fallback(tmp_path: Path) -> None:
    nonzero = Kernel("NonZero", 150, "aten::nonzero", more={"core": "AI_CPU", "type": "NonZero"})
    finding = _only(work_out(_store(tmp_path, [nonzero], {"rank": 0, "device_kind": "npu"})))
    assert (finding.kind, finding.cause) == ("cpu_fallback", "ai_cpu")
    assert finding.gain_us == pytest.approx(150)


def _slow_operator(name: str) -> Case:
    """400 of 1,000 us in kernels of an operator with one input of 4 MiB."""
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        shape: dict[str, Any] = {"input_shapes": "[[1024, 1024]]", "dtypes": '["float"]', "phase": "forward"}
        operator = case.slice(name, "operator", begin, begin + 4, step=number, **shape)
        call = case.slice("cudaLaunchKernel", "runtime", begin, begin + 2, step=number, parent=operator)
        facts: dict[str, Any] = {"track": STREAM, "step": number, "phase": "forward"}
        scan = case.slice("tensor_kernel_scan", "kernel", begin, begin + 400, operator=name, **facts)
        product = case.slice(GEMM, "kernel", begin + 400, begin + STEP, operator="aten::mm", **facts)
        for task in (scan, product):
            case.link("launch", call, task)
    return case


def test_an_operator_that_takes_far_longer_than_its_data_need_is_a_hotspot(tmp_path: Path) -> None:
    finding = _only(work_out(_stored(tmp_path, _slow_operator("aten::cumsum"), H200)))
    assert (finding.kind, finding.where.operator) == ("compute_hotspot", "aten::cumsum")
    # 4 MiB in, as much out, at 0.75 of 4.8 TB/s: 2.3 us, but no kernel is shorter than 5 us.
    assert finding.gain_us == pytest.approx(400 - 5)


@pytest.mark.parametrize("name", ["CompiledFunctionBackward", "Torch-Compiled Region", "LossFunctionBackward"])
def test_what_reads_more_than_its_inputs_is_no_hotspot(tmp_path: Path, name: str) -> None:
    findings = work_out(_stored(tmp_path, _slow_operator(name), H200)).findings
    assert "compute_hotspot" not in [finding.kind for finding in findings]


def test_an_operator_on_the_hosts_processor_costs_the_idle_time_beside_it(tmp_path: Path) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        for call, task, name, kind in (
            ((0, 2), (0, 400), GEMM, "kernel"),
            ((2, 4), (400, 410), "Memcpy DtoH (Device -> Pageable)", "copy"),
            ((660, 662), (662, 672), "Memcpy HtoD (Pageable -> Device)", "copy"),
            ((662, 664), (672, 1000), GEMM, "kernel"),
        ):
            case.launch(
                (begin + call[0], begin + call[1]),
                (begin + task[0], begin + task[1]),
                step=number,
                name=name,
                kind=kind,
            )
        case.slice("aten::sort", "operator", begin + 410, begin + 660, step=number, phase="forward")
    diagnosis = work_out(_stored(tmp_path, case, H200))
    finding = _only(diagnosis)
    assert (finding.kind, finding.cause, finding.where.operator) == ("cpu_fallback", "host", "aten::sort")
    assert finding.gain_us == pytest.approx(250)


@pytest.mark.parametrize(("mhz", "told"), [(1760, []), (1440, ["frequency_drop"])])
def test_a_lower_clock_while_computing_is_reported(tmp_path: Path, mhz: int, told: list[str]) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        case.step(number, number * STEP, (number + 1) * STEP)
        case.launch((number * STEP, number * STEP + 1), (number * STEP, (number + 1) * STEP), step=number)
    track = {"track": 9, "kind": "counter", "name": "AI Core Freq (MHz)", "order": 9}
    # At full speed in one step of four, and slow where nothing runs, which does not count.
    clock = [(500, 800), (1000, 1800), (2000, mhz), (3000, mhz), (4000, mhz), (5000, 800)]
    samples = [{"track": 9, "time_ns": at * US, "value": float(value)} for at, value in clock]
    store = _stored(tmp_path, case, {"rank": 0, "device_kind": "npu"}, tracks=[track], counters=samples)
    findings = _accused(work_out(store))
    assert [finding.kind for finding in findings] == told
    if findings:
        assert findings[0].gain_us == pytest.approx(1000 * (1 - (1800 + 3 * mhz) / 4 / 1800))


def test_what_was_not_recorded_is_named_with_what_to_collect(tmp_path: Path) -> None:
    not_checked = {entry.kind: entry.collect_with.en for entry in work_out(_store(tmp_path, [])).not_checked}
    assert "record_shapes" in not_checked["compute_hotspot"]
    assert "frequency_drop" in not_checked
