import { expect, test } from 'vitest'
import type { RankRow } from '../../api/schema'
import { byMeasure, knownMeasures, rankGrid } from './rankMeasures'

const row = (rank: number, more: Partial<RankRow> = {}): RankRow =>
  ({ rank, host: null, pp: null, deviation_share: null, period_us: 1, ...more }) as RankRow

test('the furthest from its peers stands first, whatever its number', () => {
  const rows = Array.from({ length: 1024 }, (_, rank) => row(rank, { deviation_share: rank === 517 ? 0.3 : 0.01 }))
  expect(byMeasure(rows, 'deviation_share')[0]?.rank).toBe(517)
  expect(rankGrid(rows, 'measure', 'deviation_share').cells[0]?.rank).toBe(517)
})

test('every rank has one cell, in rows of its host or stage', () => {
  const rows = [row(0, { pp: 0 }), row(1, { pp: 1 }), row(2, { pp: 0 }), row(3, { pp: 10 })]
  const grid = rankGrid(rows, 'pp', 'period_us')
  expect(grid.names).toEqual(['0', '1', '10'])
  expect(grid.columns).toBe(2)
  expect(grid.cells.map((cell) => cell?.rank ?? null)).toEqual([0, 2, 1, null, 3, null])
  expect(rankGrid(rows, 'rank', 'period_us').cells).toHaveLength(4)
})

test('many hosts stand beside each other, so that their ranks can be told apart', () => {
  const host = (rank: number): string => `host${String(Math.floor(rank / 8)).padStart(3, '0')}`
  const rows = Array.from({ length: 1024 }, (_, rank) => row(rank, { host: host(rank) }))
  const grid = rankGrid(rows, 'host', 'period_us')
  // 128 hosts of 8 ranks: 8 hosts in each of 16 rows.
  expect(grid.columns).toBe(64)
  expect(grid.names).toHaveLength(16)
  expect(grid.names?.[1]).toBe('host008 – host015')
  expect(grid.cells.map((cell) => cell?.rank)).toEqual(rows.map((one) => one.rank))

  // 37 hosts have no even division into at most 24 rows of at most 8: two in a row, and one place is left.
  const odd = rankGrid(rows.slice(0, 37 * 8), 'host', 'period_us')
  expect([odd.columns, odd.names?.length, odd.names?.at(-1)]).toEqual([16, 19, 'host036'])
  expect(odd.cells.slice(-8)).toEqual(Array(8).fill(null))
})

test('only what was recorded is offered', () => {
  const ids = knownMeasures([row(0, { computing_us: null, idle_us: 3 })]).map((one) => one.id)
  expect(ids).toContain('idle_us')
  expect(ids).not.toContain('computing_us')
})
