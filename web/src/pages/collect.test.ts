import { expect, test } from 'vitest'
import { COLLECT, recipesFor } from './collect'

const pytorch = (page: string, device: string | null): string =>
  recipesFor(page, 'pytorch', device).find((one) => one.framework === 'pytorch')?.snippet ?? ''

test('a recipe names the accelerator of the capture, by the name its profiler has for it', () => {
  expect(pytorch('timeline', 'gpu')).toContain('from torch.profiler import')
  expect(pytorch('timeline', 'gpu')).toContain('ProfilerActivity.CUDA')
  expect(pytorch('timeline', 'npu')).toContain('from torch_npu.profiler import')
  expect(pytorch('data', 'npu')).toContain('ProfilerActivity.NPU')
  expect(pytorch('data', 'gpu')).toContain('ProfilerActivity.GPU')
  // stepscope.profiler knows no CUDA: the names are those of MindSpore.
  for (const page of Object.keys(COLLECT)) {
    for (const { snippet } of ['npu', 'gpu', null].flatMap((device) => recipesFor(page, null, device))) {
      expect(snippet.includes('stepscope.profiler') && snippet.includes('.CUDA')).toBe(false)
    }
  }
})

test('the snippet of the capture’s own framework comes first, with the option that the page needs', () => {
  expect(recipesFor('memory', 'mindspore', 'npu').map((one) => one.framework)).toEqual(['mindspore', 'pytorch'])
  expect(recipesFor('memory', 'pytorch', 'gpu')[0]?.snippet).toContain('    profile_memory=True,\n) as profiler')
})
