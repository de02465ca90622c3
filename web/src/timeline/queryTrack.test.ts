import { expect, test } from 'vitest'
import { queryOf, queryTrack, touching } from './queryTrack'

const relative = (rank: number, ns: string): number => Number(BigInt(ns) - 1_700_000_000_000_000_000n) + rank

test('rows with a time are slices, on the clock of their rank; overlapping ones lie below each other', () => {
  const track = queryTrack(
    [
      { rank: 1, slice: 5, name: 'late', start_ns: '1700000000000000500', dur_ns: 100 },
      { name: 'long', start_ns: '1700000000000000000', end_ns: '1700000000000000900' },
      { name: 'sum', total: 3 },
    ],
    0,
    relative,
  )
  expect(track.rows).toEqual([
    [{ rank: 0, start: 0, end: 900, name: 'long', slice: null }],
    [{ rank: 1, start: 501, end: 601, name: 'late', slice: 5 }],
  ])
  expect([track.slices, track.without]).toEqual([2, 1])
})

test('only what touches the window is drawn', () => {
  const at = (start: number, end: number) => ({ rank: 0, start, end, name: '', slice: null })
  const row = [at(0, 10), at(20, 30), at(40, 50)]
  expect(touching(row, 25, 40)).toEqual([row[1]])
  expect(touching(row, 5, 21)).toEqual([row[0], row[1]])
  expect(touching(row, 60, 70)).toEqual([])
})

test('the address names the query', () => {
  expect(queryOf({ track: 'sql:SELECT 1' })).toBe('SELECT 1')
  expect(queryOf({ track: 'other' })).toBeNull()
})
