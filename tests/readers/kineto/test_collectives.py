"""What communication calls do, by their names."""

from __future__ import annotations

import pytest

from stepscope.facts.communication import communication_facts, communication_kernel
from stepscope.readers.slices.collective_names import collective_kind

# Function names of NCCL before and since 2.19, of PyTorch's symmetric memory, vLLM, SGLang and DeepEP, and of
# c10d's own records; what each does follows from its documentation.
_KERNELS = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "all_reduce",
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "reduce_scatter",
    "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "reduce",
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)": "send_receive",
    "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)": "all_gather",
    "ncclAllReduceRingLLKernel_sum_f32(ncclColl)": "all_reduce",
    "ncclReduceScatterRingLLKernel_sum_f32": "reduce_scatter",
    "ncclBroadcastRingLLKernel_copy_i8": "broadcast",
    "ncclSendRecvKernel_copy_i8": "send_receive",
    "multimem_all_reduce_kernel": "all_reduce",
    "void c10d::(anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)": "all_reduce",
    "two_shot_all_reduce_kernel": "all_reduce",
    "cross_device_reduce_1stage": "all_reduce",
    "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, "
    "__nv_bfloat16*, int, int)": "all_reduce",
    "void sglang::cross_device_reduce_1stage<half, 2>(sglang::RankData*, sglang::Signal*)": "all_reduce",
    "void deep_ep::internode_ll::dispatch<true, 3, 10>(void*, int*)": "all_to_all",
    "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(__nv_bfloat16*, float*)": "all_to_all",
    "void deep_ep::intranode::notify_dispatch<8>(int const*, int*)": "other",  # counts only
    "void deep_ep::intranode::barrier<8>(int**, int)": "barrier",
}
_CALLS = {
    "allreduce": "all_reduce",
    "_allgather_base": "all_gather",
    "_all_gather_base_coalesced": "all_gather",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "all_to_allv": "all_to_all",
    "gloo:all_reduce": "all_reduce",
    "mpi:scatter": "scatter",
    "recv": "receive",
    "coalesced": "other",
    "": "other",
}


@pytest.mark.parametrize(("name", "kind"), [*_KERNELS.items(), *_CALLS.items()])
def test_names_tell_what_a_collective_does(name: str, kind: str) -> None:
    assert collective_kind(name) == kind


@pytest.mark.parametrize("name", _KERNELS)
def test_such_kernels_are_known_to_communicate(name: str) -> None:
    assert communication_kernel().search(name)


@pytest.mark.parametrize("spelling", communication_facts().kinds)
def test_each_listed_spelling_means_what_the_list_says(spelling: str) -> None:
    assert collective_kind(spelling) == communication_facts().kinds[spelling]


def test_a_name_without_end_costs_no_time() -> None:
    assert collective_kind("_".join(["word"] * 200_000)) == "other"
