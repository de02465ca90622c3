import { expect, test } from 'vitest'
import { slowestFirst } from './lateness'

const row = (
  rank: number,
  delay: number | null,
  computing: number | null,
): Parameters<typeof slowestFirst>[0][number] => ({
  rank,
  delay_us: delay,
  computing_us: computing,
  period_us: null,
})

test('the rank that makes the others wait longest is the slowest; equal ones by their numbers', () => {
  expect(slowestFirst([row(0, 1, 90), row(1, 70, 10), row(2, 1, 10)])).toEqual([1, 0, 2])
})

test('without common calls it is the one that computes longest, and of an unknown one nothing is said', () => {
  expect(slowestFirst([row(0, null, 5), row(1, null, null), row(2, null, 9)])).toEqual([2, 0])
})
