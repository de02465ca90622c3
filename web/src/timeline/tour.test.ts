import { expect, test } from 'vitest'
import type { CriticalPath, Gap } from '../api/schema'
import type { SliceBrief } from '../api/timeline'
import { gapStops, mostVisible, nextStop, pathStops, tourFromText, tourToText, type TourSpec } from './tour'

/** Rank 1 runs 50 ns ahead of the run's clock, which begins at 1000. */
const relative = (rank: number, ns: number | string): number => Number(ns) - 1000 - (rank === 1 ? 50 : 0)
const brief = (slice: number, row: number, at: number, dur: number): SliceBrief => ({
  rank: 1,
  slice,
  name: `kernel ${slice}`,
  kind: 'kernel',
  track: 0,
  row,
  at_ns: at,
  dur_ns: dur,
})

test('a tour survives the address; what is none is nothing', () => {
  const specs: readonly TourSpec[] = [{ kind: 'gaps' }, { kind: 'path', step: 7 }, { kind: 'path', step: null }]
  for (const spec of specs) expect(tourFromText(tourToText(spec))).toEqual(spec)
  for (const text of [undefined, '', 'slow_rank-00c0ffee']) expect(tourFromText(text)).toBeNull()
})

test('J and K walk from stop to stop and stay at the ends', () => {
  expect(nextStop(null, 1, 3)).toBe(0)
  expect([nextStop(0, 1, 3), nextStop(2, 1, 3), nextStop(0, -1, 3)]).toEqual([1, 2, 0])
  expect(nextStop(null, 1, 0)).toBeNull()
})

test('gaps come by size, never before the run begins', () => {
  const gap = (start: number, us: number): Gap => ({ rank: 0, start_ns: start, duration_us: us, cause: 'host' }) as Gap
  const stops = gapStops([gap(5000, 1), gap(400, 2), gap(9000, 3)], relative)
  expect(stops.map(({ start, end }) => [start, end])).toEqual([
    [8000, 11_000],
    [0, 1400],
    [4000, 5000],
  ])
})

test('a path has a stop for each of its parts, waits among them', () => {
  const path = {
    rank: 1,
    path: [
      { slice: 4, name: 'gemm', start_ns: '1150', duration_us: 0.2, bound: 'compute' },
      { slice: null, name: null, start_ns: '1350', duration_us: 0.1, bound: 'host' },
    ],
  } as unknown as CriticalPath
  expect(pathStops(path, new Map([[4, brief(4, 9, 100, 200)]]), relative)).toEqual([
    { rank: 1, start: 100, end: 300, name: 'gemm', reason: 'compute', slices: [{ rank: 1, slice: 4 }], row: 9 },
    { rank: 1, start: 300, end: 400, name: '', reason: 'host', slices: [], row: null },
  ])
})

test('the visible step is the one that most is seen of', () => {
  const steps = [
    { step: 1, start: 0, end: 100 },
    { step: 2, start: 100, end: 200 },
  ]
  expect(mostVisible(steps, { start: 60, end: 180 })?.step).toBe(2)
  expect(mostVisible(steps, { start: 300, end: 400 })).toBeNull()
})
