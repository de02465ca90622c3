import { expect, test } from 'vitest'
import { axisTicks, matrixOf, rankRanges, rankTicks, sidesOf } from './matrix'

/** As rows and as columns. */
const square = (ranks: readonly number[]): { rows: readonly number[]; columns: readonly number[] } => ({
  rows: ranks,
  columns: ranks,
})

test('captured ranks have rows, those without files columns too; what is unknown is no zero', () => {
  const cells = [{ row: 0, column: 5, value: 3 }]
  const { values, rows, columns } = matrixOf(cells, sidesOf(cells, [2, 0]))
  expect([rows, columns]).toEqual([
    [[0], [2]],
    [[0], [2], [5]],
  ])
  expect([...values]).toEqual([Number.NaN, Number.NaN, 3, ...Array<number>(3).fill(Number.NaN)])
})

test('a part of the matrix shows its own cells only', () => {
  const cells = [
    { row: 0, column: 1, value: 3 },
    { row: 4, column: 1, value: 4 },
    { row: 0, column: 9, value: 5 },
  ]
  expect([...matrixOf(cells, { rows: [0, 1], columns: [1, 2] }).values]).toEqual([
    3,
    Number.NaN,
    Number.NaN,
    Number.NaN,
  ])
})

test('cells of the same two ranks add up; rates are sums over sums', () => {
  const twice = [
    { row: 0, column: 1, value: 3 },
    { row: 0, column: 1, value: 4 },
  ]
  expect(matrixOf(twice, square([0, 1])).values[1]).toBe(7)
  const rates = [
    { row: 0, column: 1, value: 10, per: 1 },
    { row: 0, column: 1, value: 10, per: 4 },
  ]
  expect(matrixOf(rates, square([0, 1])).values[1]).toBe(4)
})

test('too many ranks are put together in blocks of neighbours, without losing anything', () => {
  const ranks = Array.from({ length: 10 }, (_, rank) => rank)
  const cells = ranks.map((rank) => ({ row: rank, column: 9, value: 1 }))
  const { values, rows } = matrixOf(cells, square(ranks), 4)
  expect(rows).toEqual([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]])
  expect([3, 7, 11, 15].map((at) => values[at])).toEqual([3, 3, 3, 1])
})

test('an axis names each of few rows and some of many', () => {
  expect(axisTicks(4, 8)).toEqual([0, 1, 2, 3])
  expect(axisTicks(10, 4)).toEqual([0, 3, 6, 9])
  expect(axisTicks(0, 4)).toEqual([])
})

test('an axis names accused ranks whatever their place, and others that keep clear of them', () => {
  const blocks = Array.from({ length: 8 }, (_, block) => [2 * block, 2 * block + 1])
  const frames = new Map([
    [7, '--warning'],
    [99, '--critical'],
  ])
  expect(rankTicks(blocks, frames, 4)).toEqual([
    { at: 3, rank: 7, colour: '--warning' },
    { at: 0, rank: 0, colour: null },
    { at: 6, rank: 12, colour: null },
  ])
})

test('ranks in short', () => {
  expect(rankRanges([3, 0, 1, 2, 8])).toBe('0–3, 8')
  expect(rankRanges([])).toBe('')
})
