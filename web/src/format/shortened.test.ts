import { expect, test } from 'vitest'
import { shortened } from './shortened'

test('long kernel names keep both ends', () => {
  const name = 'void at::native::elementwise_kernel<128, 4>'
  expect(shortened(name, 20)).toHaveLength(20)
  expect(shortened(name, 20).startsWith('void at::')).toBe(true)
  expect(shortened(name, 20).endsWith('4>')).toBe(true)
  expect(shortened('mm', 20)).toBe('mm')
})
