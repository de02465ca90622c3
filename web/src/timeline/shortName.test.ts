import { expect, test } from 'vitest'
import { shortName } from './shortName'

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
