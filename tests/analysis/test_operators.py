"""Operators and kernels put together every way, on small runs whose numbers are worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.api_statistics import api_statistics
from stepscope.analysis.copies import copies
from stepscope.analysis.operators import Operator, operators
from stepscope.analysis.operators.kernel_names import category
from stepscope.errors import NoAnswerError, UsageError
from stepscope.facts.kernel_names import short_name
from stepscope.questions import QUESTIONS
from stepscope.store.run_store import RunStore

Row = dict[str, Any]
_GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn"
_ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, float)"
_TRACKS = [{"track": 0, "kind": "host"}, {"track": 7, "kind": "stream"}]


def _kernel(name: str, start: int, dur: int, step: int | None = 1, **more: Any) -> Row:
    return {
        "kind": "kernel",
        "core": "GPU",
        "name": name,
        "start_ns": start,
        "dur_ns": dur,
        "step": step,
        "track": 7,
        **more,
    }


def _operator(name: str, start: int, dur: int, parent: int | None = None, **more: Any) -> Row:
    return {"kind": "operator", "name": name, "start_ns": start, "dur_ns": dur, "step": 1, "parent": parent, **more}


def _gpu_run(directory: Path) -> RunStore:
    """linear calls addmm, which launches two kernels; add launches one; backward of addmm launches one."""
    module: Any = {"module": "Net_0/Linear_0"}
    slices = [
        _operator("aten::linear", 0, 100, input_shapes="[[4, 8], [2, 8]]", dtypes='["float", "float"]', **module),
        _operator("aten::addmm", 10, 60, parent=0, input_shapes="[[2], [4, 8], [8, 2]]", **module),
        {"kind": "runtime", "name": "cudaLaunchKernel", "start_ns": 20, "dur_ns": 5, "step": 1, "parent": 1},
        {"kind": "runtime", "name": "cudaLaunchKernel", "start_ns": 30, "dur_ns": 5, "step": 1, "parent": 1},
        _operator("aten::add", 110, 30),
        {"kind": "runtime", "name": "cudaLaunchKernel", "start_ns": 115, "dur_ns": 5, "step": 1, "parent": 4},
        _operator("AddmmBackward0", 200, 50),
        _operator("aten::mm", 210, 20, parent=6),
        {"kind": "runtime", "name": "cudaLaunchKernel", "start_ns": 215, "dur_ns": 5, "step": 1, "parent": 7},
        _kernel(_GEMM, 1000, 4000, operator="aten::addmm", **module),
        _kernel(_ADD, 5000, 1000, operator="aten::addmm", **module),
        _kernel(_ADD, 7000, 3000, operator="aten::add"),
        _kernel(_GEMM, 9000, 2000, step=2, operator="aten::mm"),
        {"kind": "copy", "name": "Memcpy HtoD (Pinned -> Device)", "start_ns": 0, "dur_ns": 500, "step": 1, "track": 7},
        {
            "kind": "collective",
            "name": "ncclDevKernel_AllReduce",
            "start_ns": 12000,
            "dur_ns": 2000,
            "step": 1,
            "track": 7,
        },
        {"kind": "collective", "name": "gloo:all_reduce", "start_ns": 300, "dur_ns": 9999, "step": 1, "track": 0},
    ]
    links = [("launch", 2, 9), ("launch", 3, 10), ("launch", 5, 11), ("launch", 8, 12), ("forward_backward", 1, 6)]
    steps = [{"step": number, "host_start_ns": number * 1000, "host_end_ns": number * 1000 + 900} for number in (1, 2)]
    return make_store(
        directory,
        slices=slices,
        tracks=_TRACKS,
        steps=steps,
        links=[{"kind": kind, "from_slice": begin, "to_slice": end} for kind, begin, end in links],
        ranks=[{"rank": 0, "device_kind": "gpu"}],
    )


def _rows(store: RunStore, **asked: Any) -> list[Row]:
    answer = operators(store, **asked)
    msgspec.convert(answer.plain(), list[Operator])
    return answer.data.to_dicts()


def test_kernels_by_name_with_all_statistics(tmp_path: Path) -> None:
    first, second = _rows(_gpu_run(tmp_path))
    assert (first["name"], first["type"], first["core"], first["side"]) == (
        _GEMM,
        "ampere_bf16_s16816gemm_bf16",
        "GPU",
        "device",
    )
    assert (first["count"], first["total_us"], first["avg_us"], first["min_us"], first["max_us"]) == (
        2,
        6.0,
        3.0,
        2.0,
        4.0,
    )
    assert (first["p50_us"], first["p95_us"]) == (3.0, 3.9)  # interpolated between 2 and 4
    assert first["operator"] == "aten::addmm"  # most of its time
    assert (first["share"], second["share"]) == (0.6, 0.4)
    assert first["per_step_us"] == 3.0
    assert (first["steps"], second["steps"]) == (2, 1)
    # At least one of copy, kernels and collective ran in 500 + (1000..6000) + (7000..11000) + 2000 ns.
    assert first["busy_share"] == pytest.approx(6000 / 11500)
    assert (first["category"], second["category"]) == ("matmul", "elementwise")
    assert first["pmu"] is None
    assert first["self_us"] is None


def test_types_cores_and_categories(tmp_path: Path) -> None:
    store = _gpu_run(tmp_path)
    types = {row["name"]: row["total_us"] for row in _rows(store, by="type")}
    assert types == {"ampere_bf16_s16816gemm_bf16": 6.0, "vectorized_elementwise_kernel": 4.0}
    assert [(row["name"], row["count"], row["share"]) for row in _rows(store, by="core")] == [("GPU", 4, 1.0)]
    categories = {row["name"]: row["total_us"] for row in _rows(store, by="category")}
    assert categories == {"matmul": 6.0, "elementwise": 4.0, "communication": 2.0, "copy": 0.5}


def test_lanes_beside_compute_are_shown_when_asked_for(tmp_path: Path) -> None:
    store = _gpu_run(tmp_path)
    assert [row["name"] for row in _rows(store, lane="communication")] == ["ncclDevKernel_AllReduce"]
    assert [row["name"] for row in _rows(store, lane="copy")] == ["Memcpy HtoD (Pinned -> Device)"]
    assert sum(row["total_us"] for row in _rows(store, lane="all")) == 12.5


def test_operators_on_the_host_with_self_and_device_times(tmp_path: Path) -> None:
    rows = {row["name"]: row for row in _rows(_gpu_run(tmp_path), by="operator", side="host")}
    linear, addmm = rows["aten::linear"], rows["aten::addmm"]
    assert (linear["total_us"], linear["self_us"]) == (0.1, 0.04)
    assert (linear["device_total_us"], linear["device_self_us"]) == (5.0, 0.0)
    assert (addmm["total_us"], addmm["self_us"], addmm["device_total_us"], addmm["device_self_us"]) == (
        0.06,
        0.06,
        5.0,
        5.0,
    )
    assert rows["AddmmBackward0"]["device_total_us"] == 2.0
    assert linear["share"] == pytest.approx(40 / 180)  # of the self time of all: 40 + 60 + 30 + 30 + 20
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1.0)


def test_kernels_by_their_operator_appear_beside_the_hosts_view(tmp_path: Path) -> None:
    rows = _rows(_gpu_run(tmp_path), by="operator")
    device = {row["name"]: row["total_us"] for row in rows if row["side"] == "device"}
    assert device == {"aten::addmm": 5.0, "aten::add": 3.0, "aten::mm": 2.0}
    assert [row["side"] for row in rows] == sorted((row["side"] for row in rows), key=["device", "host"].index)


def test_shapes_of_kernels_are_those_of_their_operators(tmp_path: Path) -> None:
    rows = _rows(_gpu_run(tmp_path), by="shape", side="device")
    shapes = {(row["name"], row["input_shapes"]): row["total_us"] for row in rows}
    wanted = "[[2], [4, 8], [8, 2]]"
    assert shapes == {(_GEMM, wanted): 4.0, (_ADD, wanted): 1.0, (_ADD, None): 3.0, (_GEMM, None): 2.0}


def test_a_backward_kernel_belongs_to_the_module_of_its_forward_operator(tmp_path: Path) -> None:
    rows = _rows(_gpu_run(tmp_path), by="module")
    device = {row["name"]: row["total_us"] for row in rows if row["side"] == "device"}
    host = {row["name"]: (row["total_us"], row["device_total_us"]) for row in rows if row["side"] == "host"}
    assert device == {"Net_0/Linear_0": 7.0, None: 3.0}
    # Self times: linear 40, addmm 60, its backward 30 with mm 20; outside: add 30.
    assert host == {"Net_0/Linear_0": (0.15, 7.0), None: (0.03, 3.0)}


def test_steps_can_be_chosen(tmp_path: Path) -> None:
    store = _gpu_run(tmp_path)
    (row,) = _rows(store, steps=[2])
    assert (row["name"], row["count"], row["total_us"], row["per_step_us"], row["share"]) == (_GEMM, 1, 2.0, 2.0, 1.0)
    with pytest.raises(NoAnswerError):
        operators(store, steps=[99])


def test_search_by_kernel_and_by_operator_keeps_the_share_of_all(tmp_path: Path) -> None:
    store = _gpu_run(tmp_path)
    (row,) = _rows(store, search="GEMM_bf16")
    assert (row["name"], row["share"]) == (_GEMM, 0.6)
    rows = {row["name"]: row["total_us"] for row in _rows(store, search_operator="addmm")}
    assert rows == {_GEMM: 4.0, _ADD: 1.0}
    with pytest.raises(NoAnswerError):
        operators(store, search="nothing like it")


def test_a_limit_says_what_it_left_out(tmp_path: Path) -> None:
    answer = operators(_gpu_run(tmp_path), limit=1)
    assert answer.data["share"].to_list() == [0.6]
    (note,) = [note for note in answer.notes if note.code == "rows_left_out"]
    assert note.params == {"rows": 1, "side": "device"}


def test_counted_warm_up_is_named(tmp_path: Path) -> None:
    steps = [{"step": n, "host_start_ns": n * 10, "host_end_ns": n * 10 + 5, "warm_up": n == 1} for n in (1, 2, 3)]
    store = make_store(tmp_path, slices=[_kernel(_ADD, 0, 5, step=n) for n in (1, 2, 3)], steps=steps)
    (note,) = operators(store).notes
    assert (note.code, note.params) == ("warm_up_counted", {"steps": "1"})
    assert operators(store, steps=[2]).notes == []


def test_wrong_choices_are_refused(tmp_path: Path) -> None:
    store = _gpu_run(tmp_path)
    wrong: list[dict[str, Any]] = [{"by": "colour"}, {"side": "left"}, {"lane": "fast"}]
    for asked in wrong:
        with pytest.raises(UsageError):
            QUESTIONS["operators"].ask(store, **asked)


def test_without_a_device_operators_with_their_own_time_are_the_kernels(tmp_path: Path) -> None:
    slices = [
        _operator("aten::linear", 0, 100),
        _operator("aten::addmm", 10, 60, parent=0),
        _operator("aten::relu", 110, 20),
    ]
    answer = operators(make_store(tmp_path, slices=slices))
    rows = {row["name"]: row for row in answer.data.to_dicts()}
    own = {"aten::linear": 0.04, "aten::addmm": 0.06, "aten::relu": 0.02}  # linear without the 60 of addmm
    assert {name: row["total_us"] for name, row in rows.items()} == own
    assert {name: row["self_us"] for name, row in rows.items()} == own
    assert {(row["side"], row["core"]) for row in rows.values()} == {("host", "HOST_CPU")}
    assert rows["aten::linear"]["busy_share"] == pytest.approx(40 / 120)  # from 0 to 100 and from 110 to 130
    assert [note.code for note in answer.notes] == ["operators_are_kernels"]


def test_operators_that_ran_on_the_host_appear_beside_those_of_the_device(tmp_path: Path) -> None:
    slices = [
        _operator("Default/GatherNd-op1", 0, 40, type="GatherNd", core="HOST_CPU"),
        _kernel("Default/MatMul-op2", 50, 60, type="MatMul", core="AI_CORE"),
    ]
    rows = _rows(make_store(tmp_path, slices=slices, tracks=_TRACKS), by="type")
    assert [(row["name"], row["side"], row["core"], row["share"]) for row in rows] == [
        ("MatMul", "device", "AI_CORE", 1.0),
        ("GatherNd", "host", "HOST_CPU", 1.0),
    ]


def test_counters_are_means_and_shares_are_weighted_by_time(tmp_path: Path) -> None:
    slices = [_kernel("a", 0, 10, type="MatMul"), _kernel("b", 20, 30, type="MatMul"), _kernel("c", 60, 5, type="Add")]
    values = [
        (0, "aic_mac_ratio", 0.2),
        (1, "aic_mac_ratio", 0.6),
        (0, "aic_total_cycles", 100.0),
        (1, "aic_total_cycles", 500.0),
    ]
    pmu = [{"slice": number, "metric": metric, "value": value} for number, metric, value in values]
    rows = {row["name"]: row for row in _rows(make_store(tmp_path, slices=slices, pmu=pmu), by="type")}
    assert rows["MatMul"]["pmu"] == {"aic_mac_ratio": pytest.approx(0.5), "aic_total_cycles": 300.0}
    assert rows["Add"]["pmu"] in (None, {"aic_mac_ratio": None, "aic_total_cycles": None})


def test_copies_have_no_counters_where_kernels_have(tmp_path: Path) -> None:
    copy = {"kind": "copy", "name": "MEMCPY_ASYNC", "start_ns": 20, "dur_ns": 5, "step": 1, "track": 7}
    pmu = [{"slice": 0, "metric": "aic_total_cycles", "value": 100.0}]
    store = make_store(tmp_path, slices=[_kernel("a", 0, 10, type="MatMul"), copy], tracks=_TRACKS, pmu=pmu)
    assert [(row["name"], row["total_us"], row["pmu"]) for row in _rows(store, lane="copy")] == [
        ("MEMCPY_ASYNC", 0.005, None)
    ]


def test_groups_of_equal_time_and_name_have_one_order(tmp_path: Path) -> None:
    shapes = [f"[[{number}, 8]]" for number in range(1, 10)]
    backwards = [_kernel("a", 0, 10, type="MatMul", input_shapes=text) for text in reversed(shapes)]
    rows = _rows(make_store(tmp_path, slices=backwards), by="shape", side="device")
    assert [row["input_shapes"] for row in rows] == shapes


def test_ranks_stand_apart(tmp_path: Path) -> None:
    store = make_store(tmp_path, slices=[_kernel(_ADD, 0, 5, rank=0), _kernel(_GEMM, 0, 7, rank=3)])
    assert [(row["rank"], row["total_us"], row["share"]) for row in _rows(store)] == [(0, 0.005, 1.0), (3, 0.007, 1.0)]
    assert [row["rank"] for row in _rows(store, ranks=[3])] == [3]


def test_what_was_not_recorded_is_noted(tmp_path: Path) -> None:
    store = make_store(tmp_path, slices=[_kernel(_ADD, 0, 5)])
    assert [note.code for note in operators(store, by="shape").notes] == ["no_shapes"]
    assert [note.code for note in operators(store, by="module").notes] == ["no_modules"]
    with pytest.raises(NoAnswerError):
        operators(make_store(tmp_path / "empty", slices=pl.DataFrame()))


def test_slices_without_any_name_do_no_harm(tmp_path: Path) -> None:
    nameless = [
        {"kind": kind, "name": None, "start_ns": 0, "dur_ns": 5, "track": 7} for kind in ("kernel", "copy", "runtime")
    ]
    store = make_store(tmp_path, slices=[*nameless, _kernel(_ADD, 0, 5)], tracks=_TRACKS)
    for by in ("kernel", "type", "operator", "shape", "module", "category", "core"):
        assert sum(row["total_us"] for row in _rows(store, by=by, lane="compute", side="device")) == pytest.approx(0.01)
    assert [row["name"] for row in api_statistics(store).plain()] == [""]
    assert [row["kind"] for row in copies(store).plain()] == ["unknown"]


def test_kernels_of_no_duration_have_no_share(tmp_path: Path) -> None:
    (row,) = _rows(make_store(tmp_path, slices=[_kernel(_ADD, 0, 0)]))
    assert (row["total_us"], row["share"], row["busy_share"]) == (0.0, None, None)


@pytest.mark.parametrize(
    ("kernel", "short"),
    [
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(Params)", "cutlass_80_simt_sgemm"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<int, 4>(int*)", "CatArrayBatchedCopy"),
        ("triton_red_fused_add_native_layer_norm_3", "triton_red_fused_add_native_layer_norm"),
        ("MatMulV2", "MatMulV2"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"),
        # As c++filt has them: aiter::add_rmsnorm_quant_kernel<...>, sgl_hip::activation::act_and_mul_kernel<...>.
        (
            "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
            "add_rmsnorm_quant_kernel",
        ),
        (
            "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
            "act_and_mul_kernel",
        ),
        ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_8PipelineEEEEEvT0_", "Rmsnorm2dFwd"),
        ("_Z9saxpy_1x1iPf", "saxpy"),
        ("_Zx", "_Zx"),
        # The type of its result is no part of a function's name.
        (
            "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
            "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
            "fused_add_rms_norm_kernel",
        ),
        ("<broken", "<broken"),
        ("", ""),
    ],
)
def test_short_names(kernel: str, short: str) -> None:
    assert short_name(kernel) == short


@pytest.mark.parametrize(
    ("kernel", "operator", "wanted"),
    [
        ("FlashAttentionScoreGrad", "", "attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", "", "attention"),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", "", "attention"),
        ("Conv2DBackpropFilter", "", "convolution"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc", "", "convolution"),
        ("MatMulV2", "", "matmul"),
        ("nvjet_sm90_tst_128x128_64x5", "", "matmul"),
        ("ApplyMomentum", "", "optimizer"),
        ("multi_tensor_apply_kernel", "aten::_foreach_mul_", "optimizer"),
        ("LayerNormGrad", "", "normalization"),
        ("LogSoftmaxV2", "", "softmax"),
        ("TransData", "", "layout"),
        ("ReduceSum", "", "reduction"),
        ("triton_poi_fused_add_1", "", "elementwise"),
        ("MaxPoolWithArgmaxV1", "", "pooling"),
        ("mystery_kernel", "aten::gelu", "elementwise"),
        ("mystery_kernel", "my::operator", "other"),
    ],
)
def test_categories(kernel: str, operator: str, wanted: str) -> None:
    assert category(kernel, operator) == wanted
