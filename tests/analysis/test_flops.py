"""FLOPs of a run: what counts once, rates, peaks, roofline and shares of the peak, by hand on small runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.stores import make_store
from stepscope.analysis.flops import Flops, flops
from stepscope.analysis.flops.kernel_units import on_tensor_cores, splits
from stepscope.analysis.flops.peaks import peaks_of
from stepscope.errors import NoAnswerError, UsageError
from stepscope.questions import QUESTIONS
from stepscope.store.run_store import RunStore

Row = dict[str, Any]
_GEMM = "nvjet_sm90_tst_128x128_64x5_h_bz_NTT"
_SIMT = "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(Params)"
_TWICE = '["c10::BFloat16", "c10::BFloat16"]'
_MM = 2 * 64 * 32 * 16


def _operator(name: str, start: int, dur: int, parent: int | None = None, **more: Any) -> Row:
    return {
        "kind": "operator",
        "name": name,
        "start_ns": start,
        "dur_ns": dur,
        "step": 1,
        "parent": parent,
        "track": 0,
        **more,
    }


def _call(start: int, parent: int) -> Row:
    return {
        "kind": "runtime",
        "name": "cudaLaunchKernel",
        "start_ns": start,
        "dur_ns": 1,
        "step": 1,
        "parent": parent,
        "track": 0,
    }


def _kernel(name: str, start: int, dur: int, **more: Any) -> Row:
    return {
        "kind": "kernel",
        "name": name,
        "start_ns": start,
        "dur_ns": dur,
        "step": 1,
        "core": "GPU",
        "track": 1,
        **more,
    }


def _store(
    directory: Path, slices: list[Row], launches: list[tuple[int, int]], device: str | None = "NVIDIA H200", **more: Any
) -> RunStore:
    links = [{"kind": "launch", "from_slice": begin, "to_slice": end} for begin, end in launches]
    ranks = [{"rank": 0, "device_kind": more.pop("device_kind", "gpu"), "device_name": device}]
    tracks = [{"track": 0, "kind": "host"}, {"track": 1, "kind": "stream"}]
    return make_store(directory, slices=slices, links=links, ranks=ranks, tracks=tracks, **more)


def _linear(directory: Path, **more: Any) -> RunStore:
    """linear calls addmm, whose two kernels overlap by 200 ns; a further kernel belongs to nobody."""
    slices = [
        _operator(
            "aten::linear", 0, 100, input_shapes="[[64, 32], [16, 32], [16]]", dtypes='["float", "float", "float"]'
        ),
        _operator(
            "aten::addmm",
            10,
            50,
            0,
            input_shapes="[[16], [64, 32], [32, 16]]",
            dtypes=f'["c10::BFloat16", {_TWICE[1:]}',
        ),
        _call(20, 1),
        _call(30, 1),
        _kernel(_GEMM, 1000, 800),
        _kernel("splitKreduce_kernel", 1600, 400),
        _kernel("vectorized_elementwise_kernel", 3000, 300),
    ]
    steps = [{"step": 1, "host_start_ns": 0, "host_end_ns": 10_000}]
    return _store(directory, slices, [(2, 4), (3, 5)], steps=steps, **more)


def _answer(store: RunStore, **asked: Any) -> Flops:
    answer = flops(store, **asked)
    msgspec.convert(answer.plain(), Flops)
    return answer.data


def test_a_composite_operator_counts_once_as_what_it_calls(tmp_path: Path) -> None:
    (row,) = _answer(_linear(tmp_path)).operators
    assert (row.name, row.kind, row.dtype, row.count, row.flops) == ("aten::addmm", "matmul", "bf16", 1, _MM)
    assert row.device_us == pytest.approx(1.0)  # 1000 … 2000: the union of its kernels
    assert row.flops_per_s == pytest.approx(_MM / 1e-6)
    assert row.bytes == 2 * (16 + 64 * 32 + 32 * 16 + 64 * 16)
    assert row.intensity == pytest.approx(_MM / row.bytes)
    assert row.peak_flops_per_s == pytest.approx(989.4e12)
    assert row.attainable_flops_per_s == pytest.approx(_MM / row.bytes * 4.8e12)
    assert row.bound == "memory"
    assert row.attainable_share == pytest.approx(_MM / 1e-6 / (_MM / row.bytes * 4.8e12))
    assert row.tensor_core_share == pytest.approx(800 / 1200)


def test_shares_of_the_peak_per_step_and_rank(tmp_path: Path) -> None:
    found = _answer(_linear(tmp_path))
    (step,), (rank,) = found.steps, found.ranks
    ideal = _MM / 989.4e12
    assert (step.step, step.duration_us, step.flops, step.model_flops) == (
        1,
        3.3,
        _MM,
        _MM,
    )  # from its mark to the end of its last kernel
    assert step.flops_per_s == pytest.approx(_MM / 3.3e-6)
    assert step.mfu_share == step.hfu_share == pytest.approx(ideal / 3.3e-6)
    assert rank.mfu_share == pytest.approx(ideal / 3.3e-6)
    assert rank.counted_share == pytest.approx(1200 / 1500)
    assert rank.tensor_core_share == pytest.approx(800 / 1500)
    assert (rank.device, rank.peak_origin, rank.memory_bytes_per_s) == ("NVIDIA H200", "table", 4.8e12)


def test_a_large_product_is_bound_by_compute(tmp_path: Path) -> None:
    slices = [
        _operator("aten::mm", 0, 10, input_shapes="[[8192, 8192], [8192, 8192]]", dtypes=_TWICE),
        _call(1, 0),
        _kernel(_GEMM, 100, 2_000_000),
    ]
    (row,) = _answer(_store(tmp_path, slices, [(1, 2)])).operators
    # Intensity 8192 / 3 is above the ridge of 989.4 / 4.8.
    assert row.bound == "compute"
    assert row.intensity == pytest.approx(8192 / 3)
    assert row.attainable_flops_per_s == row.peak_flops_per_s
    assert row.peak_share == pytest.approx(2 * 8192**3 / 2e-3 / 989.4e12)


@pytest.mark.parametrize(("kernel", "dtype", "peak"), [(_SIMT, "fp32", 66.9e12), (_GEMM, "tf32", 494.7e12)])
def test_32_bit_products_on_tensor_cores_are_tf32(tmp_path: Path, kernel: str, dtype: str, peak: float) -> None:
    slices = [
        _operator("aten::mm", 0, 10, input_shapes="[[64, 32], [32, 16]]", dtypes='["float", "float"]'),
        _call(1, 0),
        _kernel(kernel, 100, 500),
    ]
    (row,) = _answer(_store(tmp_path, slices, [(1, 2)])).operators
    assert row.dtype == dtype
    assert row.peak_flops_per_s == pytest.approx(peak)


def test_32_bit_attention_has_a_third_of_the_tf32_peak_and_uses_the_unit_thrice(tmp_path: Path) -> None:
    # PyTorch's memory-efficient attention computes three TF32 products for one of 32 bit.
    shapes = "[[2, 64, 4, 32], [2, 64, 4, 32], [2, 64, 4, 32], [], [], [], [], [], [], []]"
    slices = [
        _operator(
            "aten::_efficient_attention_forward", 0, 10, input_shapes=shapes, dtypes='["float", "float", "float"]'
        ),
        _call(1, 0),
        _kernel("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", 100, 500),
    ]
    found = _answer(_store(tmp_path, slices, [(1, 2)]))
    (row,), (rank,) = found.operators, found.ranks
    assert (row.dtype, row.flops) == ("3xtf32", 4 * 2 * 4 * 64 * 64 * 32)
    assert row.peak_flops_per_s == pytest.approx(494.7e12 / 3)
    assert rank.duration_us is not None
    assert rank.mfu_share == pytest.approx(row.flops / (rank.duration_us / 1e6) / 494.7e12)
    assert rank.hfu_share == pytest.approx(3 * row.flops / (rank.duration_us / 1e6) / 494.7e12)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (_GEMM, True),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn", True),
        ("volta_h884gemm_128x64_ldg8_nn", True),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>(Params)", True),
        ("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_tensor16x8x16_execute_kernel", True),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)", True),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_26_64x64x64_1x4x1", True),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", True),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention::Params)", False),
        ("fmha_cutlassF_f16_aligned_64x64_rf_sm75(PyTorchMemEffAttention::Params)", True),
        (_SIMT, False),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4", False),
        ("ampere_sgemm_128x64_nn", False),
        ("triton_poi_fused_add_1688", False),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)", False),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN_LDSB1", True),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16_MI16x16x16_SE_1LDSB0", True),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16_SE_1LDSB0", False),
        ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", True),
        ("_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightI", True),
        ("batched_transpose_16x32_half", False),
    ],
)
def test_kernels_on_tensor_cores_are_known_by_name(kernel: str, expected: bool) -> None:
    assert on_tensor_cores(kernel) is expected


def test_a_kernel_whose_name_was_not_recorded_counts_as_any_other(tmp_path: Path) -> None:
    slices = [
        _operator("aten::mm", 0, 50, input_shapes="[[64, 32], [32, 16]]", dtypes=_TWICE),
        _call(10, 0),
        {**_kernel("", 1000, 800), "name": None},
    ]
    (row,) = _answer(_store(tmp_path, slices, [(1, 2)])).operators
    assert (row.name, row.flops) == ("aten::mm", _MM)
    assert row.device_us == pytest.approx(0.8)


def test_by_shape_rows_stand_apart(tmp_path: Path) -> None:
    shapes = ["[[64, 32], [32, 16]]", "[[8, 32], [32, 16]]", "[[64, 32], [32, 16]]"]
    slices: list[Row] = []
    for place, shape in enumerate(shapes):
        slices += [
            _operator("aten::mm", place * 100, 10, input_shapes=shape, dtypes=_TWICE),
            _call(place * 100 + 1, 3 * place),
            _kernel(_GEMM, place * 1000, 500),
        ]
    store = _store(tmp_path, slices, [(1, 2), (4, 5), (7, 8)])
    rows = _answer(store, by="shape").operators
    assert [(row.input_shapes, row.count, row.flops) for row in rows] == [
        (shapes[0], 2, 2 * _MM),
        (shapes[1], 1, _MM // 8),
    ]
    (row,) = _answer(store).operators
    assert (row.count, row.flops) == (3, 2 * _MM + _MM // 8)
    assert row.device_us == pytest.approx(1.5)


def test_kernels_with_a_type_count_where_no_operator_tells(tmp_path: Path) -> None:
    """MindSpore in graph mode: no operators on the host, shapes on the kernels, and a recomputed forward pass."""
    texts = {
        "type": "MatMul",
        "core": "AI_CORE",
        "input_shapes": "2,64;64,32",
        "output_shapes": "2,32",
        "dtypes": "FLOAT16;FLOAT16",
    }
    slices = [
        _kernel("Default/net/MatMul-op1", 0, 100, **texts),
        _kernel("recompute_Default/net/MatMul-op2", 200, 100, **texts),
        _kernel("Default/net/ReLU-op3", 400, 100, **{**texts, "type": "ReLU"}),
    ]
    found = _answer(_store(tmp_path, slices, [], device="Ascend910A", device_kind="npu"))
    (row,) = found.operators
    assert (row.name, row.dtype, row.count, row.flops, row.source) == ("MatMul", "fp16", 2, 2 * 8192, "shapes")
    assert row.peak_flops_per_s is None
    (rank,) = found.ranks
    assert (rank.flops, rank.model_flops, rank.peak_origin) == (16384, 8192, None)
    assert rank.duration_us == pytest.approx(0.5)  # no steps: from the first to the last kernel


def test_kernels_without_shapes_count_by_the_devices_counters(tmp_path: Path) -> None:
    slices = [
        _kernel("a", 0, 100, type="MatMulV2", core="AI_CORE", dtypes="FLOAT16"),
        _kernel("b", 200, 50, type="Add", core="AI_VECTOR_CORE"),
    ]
    pmu = [
        {"slice": 0, "metric": "aic_cube_fops", "value": 5e6},
        {"slice": 1, "metric": "aiv_vector_fops", "value": 1e3},
    ]
    rows = _answer(_store(tmp_path, slices, [], device=None, device_kind="npu", pmu=pmu)).operators
    assert [(row.name, row.flops, row.source, row.kind, row.bytes) for row in rows] == [
        ("MatMulV2", 5_000_000, "counters", "counted", None),
        ("Add", 1000, "counters", "counted", None),
    ]


def test_without_a_device_the_operators_own_time_counts(tmp_path: Path) -> None:
    slices = [
        _operator("aten::mm", 0, 2000, input_shapes="[[64, 32], [32, 16]]", dtypes='["float", "float"]'),
        _operator("aten::relu", 3000, 500),
    ]
    answer = flops(_store(tmp_path, slices, [], device=None, device_kind="cpu"))
    (row,) = answer.data.operators
    assert (row.dtype, row.tensor_core_share) == ("fp32", None)
    assert row.device_us == pytest.approx(2.0)
    assert [note.code for note in answer.notes] == ["no_peak"]


def test_peaks_may_be_given(tmp_path: Path) -> None:
    store = _linear(tmp_path, device="Some new card")
    answer = flops(store)
    assert [(note.code, note.params["device"]) for note in answer.notes] == [("no_peak", "Some new card")]
    assert answer.data.ranks[0].mfu_share is None
    given = flops(store, peak_tflops=100, memory_gb_per_s=1000).data
    assert (given.ranks[0].peak_origin, given.operators[0].peak_flops_per_s) == ("given", 100e12)
    assert given.ranks[0].mfu_share == pytest.approx(_MM / 100e12 / 3.3e-6)


@pytest.mark.parametrize(
    ("name", "bf16", "memory"),
    [
        ("NVIDIA A100-SXM4-40GB", 312e12, 1555e9),
        ("NVIDIA A100-SXM4-80GB", 312e12, 2039e9),
        ("NVIDIA A100 80GB PCIe", 312e12, 1935e9),
        ("NVIDIA A10", 125e12, 600e9),
        ("NVIDIA H100 80GB HBM3", 989.4e12, 3352e9),
        ("NVIDIA H100 PCIe", 756e12, 2039e9),
        ("NVIDIA GH200 480GB", 989.4e12, 4800e9),
        ("Tesla V100-SXM2-32GB", None, 900e9),
        ("NVIDIA L40S", 362e12, 864e9),
    ],
)
def test_devices_by_name(tmp_path: Path, name: str, bf16: float | None, memory: float) -> None:
    peaks = peaks_of(_store(tmp_path, [_kernel(_GEMM, 0, 1)], [], device=name), 0)
    assert peaks.rate("bf16") == (None if bf16 is None else pytest.approx(bf16))
    assert peaks.memory == pytest.approx(memory)


def test_frequency_of_the_capture_times_cores_of_the_chip(tmp_path: Path) -> None:
    tracks = [{"track": 5, "kind": "counter", "name": "AI Core Freq (MHz)"}]
    counters = [{"track": 5, "time_ns": moment, "value": value} for moment, value in ((0, 800.0), (5, 1500.0))]
    store = make_store(
        tmp_path,
        slices=[_kernel("a", 0, 1)],
        tracks=tracks,
        counters=counters,
        ranks=[{"rank": 0, "device_kind": "npu", "device_name": "Ascend910B4"}],
    )
    peaks = peaks_of(store, 0)
    assert (peaks.origin, peaks.rate("fp16")) == ("cores", 20 * 1.5e9 * 8192)


def test_calls_that_cannot_be_counted_are_named(tmp_path: Path) -> None:
    slices = [
        _operator("aten::mm", 0, 10, input_shapes="[[64, 32], [32, 16]]", dtypes=_TWICE),
        _operator("aten::mm", 20, 10),
        _operator("aten::mm", 40, 10, input_shapes="[[64, 32], [33, 16]]", dtypes=_TWICE),
    ]
    answer = flops(_store(tmp_path, slices, [], device="NVIDIA H200"))
    assert {(note.code, note.count) for note in answer.notes} == {("flops_without_shapes", 1), ("flops_not_told", 1)}
    assert answer.data.operators[0].count == 1


def test_no_shapes_at_all_is_no_answer(tmp_path: Path) -> None:
    store = _store(tmp_path, [_operator("aten::mm", 0, 10), _kernel(_GEMM, 0, 1)], [])
    with pytest.raises(NoAnswerError, match="record_shapes"):
        flops(store)
    with pytest.raises(UsageError):
        QUESTIONS["flops"].ask(store, by="colour")


def test_warm_up_steps_do_not_count_in_the_ranks_share(tmp_path: Path) -> None:
    slices = [
        _operator("aten::mm", number * 10_000, 10, step=number, input_shapes="[[64, 32], [32, 16]]", dtypes=_TWICE)
        for number in (1, 2)
    ]
    steps = [
        {"step": 1, "host_start_ns": 0, "host_end_ns": 90_000, "warm_up": True},
        {"step": 2, "host_start_ns": 90_000, "host_end_ns": 100_000, "warm_up": False},
    ]
    found = _answer(_store(tmp_path, slices, [], steps=steps))
    assert [step.warm_up for step in found.steps] == [True, False]
    assert (found.ranks[0].duration_us, found.ranks[0].flops) == (10.0, _MM)
    only = _answer(_store(tmp_path / "again", slices, [], steps=steps), steps=[1])
    assert [(step.step, step.flops) for step in only.steps] == [(1, _MM)]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", True),
        ("cutlass_80_tensorop_3xtf32gemm_128x64_32x3_nn_align4", True),
        ("void cutlass::Kernel2<Gemm_OpMultiplyAddFastF32_sm80>(int)", True),
        ("cutlass_80_tensorop_s1688tf32gemm_128x64_32x3_nn_align4", False),
        ("ampere_sgemm_128x64_nn", False),
    ],
)
def test_32_bit_products_in_three_parts_are_known_by_name(kernel: str, expected: bool) -> None:
    assert splits(kernel) is expected
