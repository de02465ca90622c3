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

test('only what was recorded is offered', () => {
  const ids = knownMeasures([row(0, { computing_us: null, idle_us: 3 })]).map((one) => one.id)
  expect(ids).toContain('idle_us')
  expect(ids).not.toContain('computing_us')
})
