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
  expect(columnText('us', [5e9 + 1e3, 0.5])(0.5)).toBe('<0.001 s')
})

test('there are no more decimals than the values need', () => {
  expect(columnText('ns', [120, 3])(120)).toBe('120 ns')
  expect(columnText('bytes', [512, 3])(512)).toBe('512 B')
  expect([1536, 3 * 1024].map(columnText('bytes', [1536, 3 * 1024]))).toEqual(['1.5 KiB', '3.0 KiB'])
})

test('a column without a value, or with zeros only, still has a unit', () => {
  expect(columnText('us', [0, null])(0)).toBe('0 µs')
  expect(columnText('bytes', [0])(0)).toBe('0 B')
})

test('a difference has its sign', () => {
  expect([1500, -500, 0].map(columnText('us_change', [1500, -500, 0]))).toEqual(['+1.5 ms', '−0.5 ms', '0.0 ms'])
})

test('rates and amounts of work have decimal prefixes, cores no unit', () => {
  expect([593e12, 7.5e12].map(columnText('flops_per_s', [593e12, 7.5e12]))).toEqual(['593.0 TFLOP/s', '7.5 TFLOP/s'])
  expect([8, 0.0004].map(columnText('cores', [8, 0.0004]))).toEqual(['8', '0'])
  expect(columnText('gb_per_s', [25.8, 3])(3)).toBe('3.0 GB/s')
})

test('ratios of a column have the same decimals and no space', () => {
  expect([1.2019, 1, 0.9986].map(columnText('ratio', [1.2019, 1, 0.9986]))).toEqual(['1.202×', '1.000×', '0.999×'])
})

test('columns that are read across have the unit of all, which the least of note decides', () => {
  const [total, waiting, transfer] = [
    [5_011_000, 4_900],
    [4_557_408, 3_696],
    [453_592, 1_204],
  ] as const
  const texts = [
    columnText('us', total, { beside: [...waiting, ...transfer] }),
    columnText('us', waiting, { beside: [...total, ...transfer] }),
    columnText('us', transfer, { beside: [...total, ...waiting] }),
  ]
  expect(texts.map((text) => text(1_204))).toEqual(['1.2 ms', '1.204 ms', '1.204 ms'])
  expect(texts.map((text) => text(4_557_408))).toEqual(['4,557.4 ms', '4,557.408 ms', '4,557.408 ms'])
})

test('a column that would read as nothing in the unit of the others keeps its own, and zeros take theirs', () => {
  expect(columnText('us', [43_000], { beside: [0.02] })(43_000)).toBe('43 ms')
  expect(columnText('us', [0.02], { beside: [43_000] })(0.02)).toBe('20 ns')
  expect(columnText('us', [0], { beside: [43_000] })(0)).toBe('0 ms')
})

test('a column may have less decimals where their digits say nothing', () => {
  expect(columnText('bytes', [287_478, 982], { most: 1 })(287_478)).toBe('280.7 KiB')
})

test('numbers that are not read across have a unit in which the least is at least one', () => {
  const steps = [1_621_900, 22_260, 2428]
  expect(steps.map(columnText('us', steps, { most: 1, wanted: 1 }))).toEqual(['1,621.9 ms', '22.3 ms', '2.4 ms'])
  // Far apart, the largest still says how large it is.
  const far = [7_200_000_000, 2428]
  expect(far.map(columnText('us', far, { most: 1, wanted: 1 }))).toEqual(['7,200.0 s', '<0.1 s'])
})
