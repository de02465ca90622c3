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
  // Training on the host alone has no accelerator to record.
  expect(pytorch('memory', 'cpu')).toContain('activities=[ProfilerActivity.CPU],')
  expect(recipesFor('data', 'mindspore', 'cpu')[0]?.snippet).toContain('activities=[ProfilerActivity.CPU],')
  // stepscope.profiler knows no CUDA: the names are those of MindSpore.
  for (const page of Object.keys(COLLECT)) {
    for (const { snippet } of ['npu', 'gpu', null].flatMap((device) => recipesFor(page, null, device))) {
      expect(snippet.includes('stepscope.profiler') && snippet.includes('.CUDA')).toBe(false)
    }
  }
})

test('the snippet is that of the capture’s own framework, with the option that the page needs', () => {
  expect(recipesFor('memory', 'mindspore', 'npu').map((one) => one.framework)).toEqual(['mindspore'])
  expect(recipesFor('memory', null, null).map((one) => one.framework)).toEqual(['pytorch', 'mindspore'])
  expect(recipesFor('memory', 'tensorflow', null)).toHaveLength(2)
  expect(recipesFor('memory', 'pytorch', 'gpu')[0]?.snippet).toContain('    profile_memory=True,\n) as profiler')
})
