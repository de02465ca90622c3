"""What simulated work is called on a GPU, on an NPU and on a CPU, as the profilers there call it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.facts.kernel_names import short_name
from stepscope.facts.simulated_operators import simulated_operators_facts
from stepscope.layout import names
from stepscope.simulate.instructions import Instruction
from stepscope.simulate.recording import is_segment

_GEMM: Final = {"bf16": "bf16bf16_bf16f32_f32", "fp16": "f16f16_f16f32_f32", "tf32": "f32f32_tf32f32_f32"}
_FP32_GEMM: Final = (
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_"
    "aligna4_alignc4_execute_kernel__5x_cublas"
)
_TYPES: Final = {"bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float", "tf32": "float"}
#: As communication calls spell them.
CALL_TYPES: Final = {"bf16": "BFloat16", "fp16": "Half", "fp32": "Float", "tf32": "Float"}
_NPU_TYPES: Final = {"bf16": "DT_BF16", "fp16": "FLOAT16", "fp32": "FLOAT", "tf32": "FLOAT"}
_NCCL: Final = {
    "all_reduce": "ncclDevKernel_AllReduce_Sum_{dtype}_{algorithm}_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_{dtype}_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_to_all": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "send": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "receive": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
}
#: What autograd calls the node that starts a collective in the backward pass: a hook on gradients, or the reverse of
#: what the forward pass exchanged.
_NODES: Final = {
    "dp": "torch::autograd::AccumulateGrad",
    "tp": "_CopyToModelParallelRegionBackward",
    "cp": "_AllGatherBackward",
    "ep": "_AllToAllBackward",
}
#: As PyTorch's ``record_param_comms`` calls them.
COLLECTIVE_NAMES: Final = {
    "all_reduce": "allreduce",
    "all_gather": "_allgather_base",
    "reduce_scatter": "_reduce_scatter_base",
    "all_to_all": "all_to_allv",
    "send": "send",
    "receive": "recv",
}
_HCOM: Final = {
    "all_reduce": "allReduce",
    "all_gather": "allGather",
    "reduce_scatter": "reduceScatter",
    "all_to_all": "alltoAllV",
    "send": "send",
    "receive": "receive",
}

#: By the call of CANN that the host makes, the runtime's call within it, which level 2 records as well.
#: Origin: a real capture of level 2 (torch_npu, db).
RUNTIME_CALLS: Final = {
    "Node@launch": "Runtime@KernelLaunchWithHandle",
    "Hccl@Launch_Ffts": "Runtime@FftsPlusTaskLaunch",
    "AscendCL@aclrtMemcpyAsync": "Runtime@MemcpyAsync",
    "AscendCL@aclrtSynchronizeStream": "Runtime@StreamSynchronize",
}


@dataclass(frozen=True)
class Names:
    """The names of one instruction; ``operator`` is the framework's, ``node`` that of autograd around it."""

    slice: str
    operator: str
    type: str
    core: str
    call: str
    node: str = ""
    dtypes: str = ""
    shapes: str = ""


def names_of(instruction: Instruction, device: str) -> Names:
    """The names of an instruction on a kind of device."""
    if instruction.slice_kind == "collective":
        return _collective(instruction, device)
    if is_segment(instruction) or instruction.action in ("get_device", "host", "get", "step"):
        return Names(instruction.name, instruction.name, instruction.name, _core(device), _launch_call(device))
    if instruction.action == "sync":
        call = "cudaStreamSynchronize" if device != "npu" else "AscendCL@aclrtSynchronizeStream"
        return Names(call, instruction.operator, "", "", call)
    if instruction.slice_kind == "copy":
        return _copy(instruction, device)
    known = simulated_operators_facts().get(instruction.operator)
    if known is None:  # a measured operator
        core = instruction.core or _core(device)
        return Names(instruction.name, instruction.name, short_name(instruction.name), core, _launch_call(device))
    node = known.backward if instruction.phase == "backward" else ""
    if device == "npu":
        core = instruction.core or known.core
        dtype, shapes = _NPU_TYPES[instruction.dtype], instruction.shapes
        return Names(known.npu, known.operator, known.npu, core, _launch_call(device), node, dtype, shapes)
    kernel = known.gpu.format(gemm=_GEMM.get(instruction.dtype, ""))
    if instruction.operator == "matmul" and instruction.dtype == "fp32":
        kernel = _FP32_GEMM
    name = known.operator if device == "cpu" else kernel
    dtypes = f'["{_TYPES[instruction.dtype]}"]' if instruction.dtype else ""
    return Names(
        name, known.operator, short_name(name), _core(device), _launch_call(device), node, dtypes, instruction.shapes
    )


def _core(device: str) -> str:
    return {"gpu": "GPU", "npu": "AI_CORE"}.get(device, "HOST_CPU")


def _launch_call(device: str) -> str:
    return "Node@launch" if device == "npu" else "cudaLaunchKernel"


def _copy(instruction: Instruction, device: str) -> Names:
    if device == "npu":
        return Names("MEMCPY_ASYNC", "acl_memcpy_host_to_device", "", "", "AscendCL@aclrtMemcpyAsync")
    return Names(
        instruction.name, instruction.operator, instruction.name.split(" (", maxsplit=1)[0], "GPU", "cudaMemcpyAsync"
    )


def _collective(instruction: Instruction, device: str) -> Names:
    kind = instruction.kind
    if device == "cpu":
        return Names(f"gloo:{kind.replace('receive', 'recv')}", f"gloo:{kind}", "", "", "")
    node = _NODES.get(instruction.dimension, "") if instruction.phase == "backward" else ""
    if device == "npu":
        word = _HCOM[kind]
        operator = f"Hccl{word[:1].upper()}{word[1:].lower()}"
        return Names(f"hcom_{word}_", operator, f"hcom_{word}_", "HCCL", "Hccl@Launch_Ffts", node)
    dtype = {"bf16": "bf16", "fp16": "f16"}.get(instruction.dtype, "f32")
    algorithm = "TREE" if instruction.size <= 65536 else "RING"
    name = _NCCL[kind].format(dtype=dtype, algorithm=algorithm)
    return Names(name, "record_param_comms", short_name(name), "GPU", "cudaLaunchKernelExC", node)


def hcom_name(kind: str, group: str, number: int) -> str:
    """The name of a call of HCCL: the group's last digits, and the number of the call within it.

    >>> hcom_name("all_reduce", "dp_0", 7)
    'hcom_allReduce__545_7_1'
    """
    return f"hcom_{_HCOM[kind]}__{names.group_hash(group)[-3:]}_{number}_1"
