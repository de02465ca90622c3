import { beforeEach, expect, test } from 'vitest'
import { language } from '../i18n/language.svelte'
import { roundStep, ticks } from './axis'
import { bytes, count, dateOf, durationNs, durationUs, exactNs, plain, rate, ratio, share } from './units'

beforeEach(() => language.set('en'))

test('times carry four digits and the unit that fits', () => {
  expect(durationNs(0)).toBe('0 ns')
  expect(durationNs(999)).toBe('999 ns')
  expect(durationNs(84_210)).toBe('84.21 µs')
  expect(durationNs(1_204_300_000)).toBe('1.204 s')
  expect(durationNs(-1500)).toBe('−1.5 µs')
  expect(durationNs(123_456_000_000_000)).toBe('123,456 s')
  expect(durationUs(12.5)).toBe('12.5 µs')
})

test('sizes are binary, shares have one decimal, counts their thousands', () => {
  expect(bytes(1536)).toBe('1.5 KiB')
  expect(bytes(0)).toBe('0 B')
  expect(bytes(-3 * 2 ** 30)).toBe('−3 GiB')
  expect(share(0.12345)).toBe('12.3%')
  expect(share(-0.00001)).toBe('0.0%')
  expect(share(-0.394)).toBe('−39.4%')
  expect(ratio(1.2019)).toBe('1.202×')
  expect(count(1234567)).toBe('1,234,567')
  expect(plain(0.000123456)).toBe('0.0001235')
  expect(rate(3.124e14, 'FLOP/s')).toBe('312.4 TFLOP/s')
})

test('what is unknown is a dash, never NaN', () => {
  for (const format of [durationNs, durationUs, bytes, share, ratio, count, plain]) {
    expect(format(null)).toBe('–')
    expect(format(undefined)).toBe('–')
    expect(format(Number.NaN)).toBe('–')
  }
})

test('exact nanoseconds keep every digit of the wire', () => {
  expect(exactNs('1794713980135695845')).toBe('1,794,713,980,135,695,845 ns')
})

test('times since boot are no dates', () => {
  expect(dateOf('92940919')).toBeNull()
  expect(dateOf('1794713980135695845')).toContain('2026')
})

test('ticks stand at round numbers with room between them', () => {
  expect(roundStep(1000, 1000, 100)).toBe(100)
  expect(roundStep(1000, 1000, 101)).toBe(200)
  expect(roundStep(0.3, 300, 50)).toBeCloseTo(0.05)
  expect(ticks(95, 310, 100)).toEqual([100, 200, 300])
})
