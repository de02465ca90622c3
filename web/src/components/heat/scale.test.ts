import { expect, test } from 'vitest'
import { colourIndex, colourTable, percentileScale, deviationScale } from './scale'

test('one outlier does not bleach the rest', () => {
  const values = Float64Array.from({ length: 1000 }, (_, i) => i)
  values[0] = 1e12
  const { low, high } = percentileScale(values)
  expect(high).toBeLessThan(1000)
  expect(low).toBeGreaterThan(0)
  expect(colourIndex(1e12, { low, high })).toBe(255)
  expect(colourIndex(low, { low, high })).toBe(0)
})

test('missing values do not count, and no values make no scale', () => {
  expect(percentileScale(Float64Array.from([Number.NaN, 5, Number.NaN]))).toEqual({ low: 5, high: 5 })
  expect(percentileScale(new Float64Array(0))).toEqual({ low: 0, high: 0 })
})

test('the scale grows darker from step to step in the light theme', () => {
  const lightness = (pixel: number): number => (pixel & 255) + ((pixel >> 8) & 255) + ((pixel >> 16) & 255)
  const table = colourTable(false)
  for (let i = 16; i < 256; i += 16)
    expect(lightness(table[i] as number)).toBeLessThan(lightness(table[i - 16] as number))
})

test('one value far off stands out of many, and noise does not look like a difference', () => {
  const one = deviationScale([...Array.from({ length: 511 }, () => 100), 200])
  expect([colourIndex(100, one), colourIndex(200, one)].map((at) => at > 200)).toEqual([false, true])
  expect(deviationScale([99, 100, 101])).toEqual({ low: 99, high: 109 })
  expect(deviationScale([1, 2, 9], 1000)).toEqual({ low: 1, high: 101 })
})
