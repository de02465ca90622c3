import { expect, test } from 'vitest'
import { amountScale, colourIndex, colourTable, deviationScale } from './scale'

test('one outlier does not bleach the rest', () => {
  const values = Float64Array.from({ length: 1000 }, (_, i) => i)
  values[0] = 1e12
  const { low, high } = amountScale(values)
  expect(low).toBe(0)
  expect(high).toBeLessThan(1000)
  expect(colourIndex(1e12, { low, high })).toBe(255)
})

test('amounts that are nearly equal look equal, and not like nothing', () => {
  const waits = [659.6, 659, 657.5]
  const scale = amountScale(Float64Array.from([...waits, Number.NaN]))
  for (const wait of waits) expect(colourIndex(wait, scale)).toBeGreaterThan(250)
})

test('missing values do not count, and no values make no scale', () => {
  expect(amountScale(Float64Array.from([Number.NaN, 5, Number.NaN]))).toEqual({ low: 0, high: 5 })
  expect(amountScale(new Float64Array(0))).toEqual({ low: 0, high: 0 })
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
