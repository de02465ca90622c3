import { expect, test } from 'vitest'
import type { CollectiveCall } from '../../api/schema'
import { barAt, callRows, ranksToShow } from './callRows'

const call = (rank: number, start: string, duration: number, wait: number | null, number = 1): CollectiveCall => ({
  rank,
  slice: 1,
  call: number,
  step: 1,
  group: null,
  kind: 'all_reduce',
  name: 'sum',
  seq: null,
  start_ns: start,
  duration_us: duration,
  wait_us: wait,
  transit_us: null,
  skew_us: null,
  bytes: null,
})

test('nanoseconds since 1970 are exact, waiting comes before moving', () => {
  const rows = callRows([call(3, '1700000000000000001', 10, 4), call(1, '1700000000000000005', 6, null)])
  expect(rows.ranks).toEqual([1, 3])
  expect(rows.bars.map((bar) => [bar.row, bar.start, bar.moves, bar.end])).toEqual([
    [1, 0, 4000, 10_000],
    [0, 4, 4, 6004],
  ])
  expect(rows.length).toBe(10_000)
})

test('aligned at a call, it ends on all ranks when it ends on the last', () => {
  const calls = [call(0, '0', 10, 0), call(1, '5000', 10, 0), call(1, '20000', 1, 0, 2)]
  const { bars } = callRows(calls, 1)
  expect(bars.map((bar) => bar.end)).toEqual([15_000, 15_000, 21_000])
})

test('the bar under the pointer', () => {
  const rows = callRows([call(0, '0', 1, 0), call(0, '5000', 1, 0, 2)])
  expect(barAt(rows, 0, 5500, 5600)?.call.call).toBe(2)
  expect(barAt(rows, 0, 2000, 3000)).toBeNull()
})

test('of many ranks those that others wait for are shown', () => {
  const ranks = Array.from({ length: 10 }, (_, rank) => rank)
  const waits = [{ rank: 0, blames: 1, root: 9, wait_us: 5, calls: 1 }]
  expect(ranksToShow(ranks, waits, 4)).toEqual([0, 1, 2, 9])
  expect(ranksToShow(ranks, waits, 10)).toEqual(ranks)
})
