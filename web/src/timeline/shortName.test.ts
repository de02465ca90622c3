import { expect, test } from 'vitest'
import { shortName, tellingName } from './shortName'

test.each([
  [
    'void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)',
    'vectorized_elementwise_kernel<FillFunctor>',
  ],
  [
    'void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>, false>(Flash_fwd_params)',
    'flash_fwd_kernel',
  ],
  ['void (anonymous namespace)::softmax_warp_forward<float, float, 8, true>(float*, int)', 'softmax_warp_forward'],
  [
    'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)',
    'ncclDevKernel_AllReduce_Sum_f32_RING_LL',
  ],
  [
    'void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt_sgemm::Params)',
    'cutlass_80_simt_sgemm_256x128_8x4_nn_align1',
  ],
  // As c++filt has it: void aiter::add_rmsnorm_quant_kernel<std::bfloat16_t, ...>(...).
  [
    '_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib',
    'add_rmsnorm_quant_kernel',
  ],
  ['_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_8PipelineEEEEEvT0_', 'Rmsnorm2dFwd'],
])('a kernel is called by its function: %s', (name, short) => {
  expect(shortName(name)).toBe(short)
})

test.each([
  'aten::mm',
  'ProfilerStep#3',
  'Memcpy HtoD (Pageable -> Device)',
  'torch/nn/modules/module.py(1783): _call_impl',
  '<built-in method run_backward of torch._C._EngineBase object at 0x7f28f893c800>',
  'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__',
  'sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas',
  'nn.Module: Linear_0',
  'Optimizer.step#AdamW.step',
])('a name that is no C++ function stays as it is: %s', (name) => {
  expect(shortName(name)).toBe(name)
})

test.each([
  ['Default/network-TrainOneStepCell/network-WithLossCell/_backbone-AlexNet/fc3-Dense/MatMul-op19', 'MatMul-op19'],
  ['Gradients/Default/network-TrainOneStepCell/fc3-Dense/gradMatMul/MatMul-op56', 'MatMul-op56'],
  ['Default/BiasAdd-op3', 'BiasAdd-op3'],
])('an operator within scopes is called by its own name: %s', (name, short) => {
  expect(shortName(name)).toBe(short)
})

test.each([
  ['autograd::engine::evaluate_function: AddmmBackward0', 'AddmmBackward0'],
  ['nn.Module: Qwen2DecoderLayer_0', 'Qwen2DecoderLayer_0'],
  ['aten::mm', 'mm'],
  ['torch::autograd::AccumulateGrad', 'AccumulateGrad'],
  ['aten::', 'aten::'],
  ['ProfilerStep#3', 'ProfilerStep#3'],
])('where room is scarce, what many names begin with goes first: %s', (name, telling) => {
  expect(tellingName(name)).toBe(telling)
})
