import { beforeEach, expect, test } from 'vitest'
import { language } from '../i18n/language.svelte'
import { columnText } from './column'

beforeEach(() => language.set('en'))

test('a column has one unit, and keeps its zeros', () => {
  const text = columnText('us', [46_761, 46_597, 46_700, null])
  expect([46_761, 46_597, 46_700, null].map(text)).toEqual(['46.761 ms', '46.597 ms', '46.700 ms', '–'])
})

test('a small value among large ones is no zero, as far as the large ones stay legible', () => {
  expect([2_000_000, 2].map(columnText('us', [2_000_000, 2]))).toEqual(['2,000.000 ms', '0.002 ms'])
  expect(columnText('us', [5e9, 0.5])(0.5)).toBe('0.000 s')
})

test('whole nanoseconds and bytes have no decimals', () => {
  expect(columnText('ns', [120, 3])(120)).toBe('120 ns')
  expect(columnText('bytes', [512, 3])(512)).toBe('512 B')
  expect([1536, 3 * 1024].map(columnText('bytes', [1536, 3 * 1024]))).toEqual(['1.500 KiB', '3.000 KiB'])
})

test('a column without a value, or with zeros only, still has a unit', () => {
  expect(columnText('us', [0, null])(0)).toBe('0.000 µs')
  expect(columnText('bytes', [0])(0)).toBe('0 B')
})
