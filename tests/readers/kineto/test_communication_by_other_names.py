"""Device work that communicates, copies or waits without saying so in the usual words."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.reading import Reading, read
from support.traces import Event, annotation, call, complete, document, kernel, write


def opened(tmp_path: Path, events: list[Event]) -> Reading:
    return read(write(tmp_path / "trace.json", document(events)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("void deep_ep::internode::dispatch<false, 8, true, 28672>(int4*, float*, long*)", "all_to_all"),
        ("void hai::ep::internode::dispatch<(bool)0, (int)8>(int4 *, float *)", "all_to_all"),
        ("void hai::ep::internode::combine<(bool)0, (int)8>(int4 *, float *)", "all_to_all"),
        ("void hai::ep::intranode::combine<__nv_bfloat16, 8>(int4 *)", "all_to_all"),
        ("void somebody::internode_ll::dispatch<true, 3, 10, 7168>(void*)", "all_to_all"),
        ("void somebody::low_latency::combine<3, 10, 7168, 9>(void*)", "all_to_all"),
        ("void hai::ep::internode::notify_dispatch<(bool)0, (int)8>(int const *, int *)", "other"),
        ("void hai::ep::internode::cached_notify<false>(int)", "other"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"),
    ],
)
def test_kernels_of_expert_parallelism_communicate(name: str, kind: str, tmp_path: Path) -> None:
    reading = opened(tmp_path, [call("cudaLaunchKernel", 1_000, 10, 1), kernel(name, 2_000, 500, 1)])
    assert [row["kind"] for row in reading.rows("collectives")] == [kind]
    assert reading.named(name)["kind"] == "collective"


# Names as the sources of these libraries, and traces of servers that use them, spell them.
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(ncclSymkDevWorkArgs4K)", "all_reduce"),
        ("ncclSymkDevKernel_ReduceScatter_LL_sum_f8e4m3(ncclSymkDevWorkArgs4K)", "reduce_scatter"),
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "all_reduce"),
        ("mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)", "other"),
        (
            "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::"
            "trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(int)",
            "all_reduce",
        ),
        ("void flashinfer::trtllm_mnnvl_allreduce::twoshot_allreduce_kernel<8, __nv_bfloat16>(int)", "all_reduce"),
        ("void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8, true>(AllReduceParams)", "all_reduce"),
        ("void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8, false>(int const*)", "all_to_all"),
        ("void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>(int)", "all_reduce"),
        ("_ZN5aiter33reduce_scatter_cross_device_storeIDF16bLi8EEEvPNS_8RankDataE", "reduce_scatter"),
        ("void c10d::symmetric_memory::multimem_all_gather_kernel<16>(char*, char*)", "all_gather"),
        ("userbuffers_fp16_sum_inplace_gpu_rr_rs_oop", "reduce_scatter"),
        ("userbuffers_fp16_sum_inplace_gpu_rw_ag", "all_gather"),
        ("void userbuffers_fp16_sum_inplace_gpu_rw<8>(int)", "all_reduce"),
        ("kuserbuffers_pushsend", "send"),
        ("EpDispatchInterNodeV1KernelLowLatency", "all_to_all"),
        ("EpCombineSync", "other"),
        ("void nvshmemi_call_broadcast_on_stream_kernel<int>(int)", "broadcast"),
    ],
)
def test_kernels_of_serving_libraries_communicate(name: str, kind: str, tmp_path: Path) -> None:
    reading = opened(tmp_path, [call("cudaLaunchKernel", 1_000, 10, 1), kernel(name, 2_000, 500, 1)])
    assert [row["kind"] for row in reading.rows("collectives")] == [kind]
    assert reading.named(name)["kind"] == "collective"


@pytest.mark.parametrize(
    "name",
    [
        "void block_all_reduce_sum_f32_f32_kernel<256>(float*, float*, int)",  # of one device, over a block of threads
        "triton_red_fused_all_reduce_add_3",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)",
        "local_device_load_rmsnorm",
        "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)",
        "void at::native::vectorized_elementwise_kernel<4, combine_functor>(int)",
        "dispatch_kernel(int*)",
    ],
)
def test_kernels_that_only_sound_alike_compute(name: str, tmp_path: Path) -> None:
    reading = opened(tmp_path, [call("cudaLaunchKernel", 1_000, 10, 1), kernel(name, 2_000, 500, 1)])
    assert reading.named(name)["kind"] == "kernel"


def test_the_annotation_around_a_launch_says_what_sends_and_receives_are_for(tmp_path: Path) -> None:
    sent = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"
    described = {"Input Dims": [[6144]], "Input type": ["float"]}
    events = [
        annotation("nccl:all_to_all", 1_000, 100, **described),
        call("cudaLaunchKernel", 1_010, 10, 1),
        kernel(sent, 2_000, 500, 1),
        call("cudaLaunchKernel", 3_010, 10, 2),  # outside of any annotation
        kernel(sent, 4_000, 500, 2),
        annotation("nccl:send", 5_000, 100),
        call("cudaLaunchKernel", 5_010, 10, 3),
        kernel(sent, 6_000, 500, 3),
    ]
    rows = opened(tmp_path, events).rows("collectives")
    found = [(row["kind"], row["bytes"], row["dtype"]) for row in rows]
    assert found == [("all_to_all", 6144 * 4, "float"), ("send_receive", None, None), ("send", None, None)]


def test_requests_and_waits_of_mtia_do_not_compute(tmp_path: Path) -> None:
    names = ["fc_kernel", "dma_request", "event_wait"]
    events = [
        complete("mtia_ccp_events", name, 1_000 * place, 500, pid=0, tid=3, correlation=place)
        for place, name in enumerate(names, start=1)
    ]
    reading = opened(tmp_path, events)
    assert [reading.named(name)["kind"] for name in names] == ["kernel", "copy", "wait"]
