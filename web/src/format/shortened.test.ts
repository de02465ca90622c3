import { expect, test } from 'vitest'
import { headAndTail, shortened } from './shortened'

test('long kernel names keep both ends', () => {
  const name = 'void at::native::elementwise_kernel<128, 4>'
  expect(shortened(name, 20)).toHaveLength(20)
  expect(shortened(name, 20).startsWith('void at::')).toBe(true)
  expect(shortened(name, 20).endsWith('4>')).toBe(true)
  expect(shortened('mm', 20)).toBe('mm')
})

test('a long name keeps its end apart, whole characters only', () => {
  expect(headAndTail('autograd::engine::evaluate_function: AddmmBackward0')).toEqual([
    'autograd::engine::evaluate_function: Ad',
    'dmmBackward0',
  ])
  expect(headAndTail('aten::native_layer_norm')).toEqual(['aten::native_layer_norm', ''])
  const [head, tail] = headAndTail(`${'a'.repeat(20)}😀${'b'.repeat(11)}`)
  expect([head, tail]).toEqual([`${'a'.repeat(20)}😀`, 'b'.repeat(11)])
})
