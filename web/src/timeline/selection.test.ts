import { expect, test } from 'vitest'
import { around } from './selection'

test('slices have room of one and a half times their length at both ends, as their ranks are moved', () => {
  const slices = [
    { rank: 0, at_ns: 100_000, dur_ns: 10_000 },
    { rank: 1, at_ns: 90_000, dur_ns: 30_000 },
  ]
  expect(around(slices, new Map([[1, 20_000]]))).toEqual({ start: 40_000, end: 200_000 })
})

test('a slice of some nanoseconds has a microsecond beside it', () => {
  expect(around([{ rank: 0, at_ns: 5000, dur_ns: 2 }], new Map())).toEqual({ start: 4000, end: 6002 })
})
