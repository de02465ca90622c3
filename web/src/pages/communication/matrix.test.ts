import { expect, test } from 'vitest'
import { axisTicks, matrixOf, rankRanges } from './matrix'

test('every rank has a row and a column, those without files too; what is unknown is no zero', () => {
  const { values, blocks } = matrixOf([{ row: 0, column: 5, value: 3 }], [0, 2])
  expect(blocks).toEqual([[0], [2], [5]])
  expect([...values]).toEqual([Number.NaN, Number.NaN, 3, ...Array<number>(6).fill(Number.NaN)])
})

test('cells of the same two ranks add up; rates are sums over sums', () => {
  const twice = [
    { row: 0, column: 1, value: 3 },
    { row: 0, column: 1, value: 4 },
  ]
  expect(matrixOf(twice, [0, 1]).values[1]).toBe(7)
  const rates = [
    { row: 0, column: 1, value: 10, per: 1 },
    { row: 0, column: 1, value: 10, per: 4 },
  ]
  expect(matrixOf(rates, [0, 1]).values[1]).toBe(4)
})

test('too many ranks are put together in blocks of neighbours, without losing anything', () => {
  const ranks = Array.from({ length: 10 }, (_, rank) => rank)
  const cells = ranks.map((rank) => ({ row: rank, column: 9, value: 1 }))
  const { values, blocks } = matrixOf(cells, ranks, 4)
  expect(blocks).toEqual([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]])
  expect([3, 7, 11, 15].map((at) => values[at])).toEqual([3, 3, 3, 1])
})

test('an axis names each of few rows and some of many', () => {
  expect(axisTicks(4, 8)).toEqual([0, 1, 2, 3])
  expect(axisTicks(10, 4)).toEqual([0, 3, 6, 9])
  expect(axisTicks(0, 4)).toEqual([])
})

test('ranks in short', () => {
  expect(rankRanges([3, 0, 1, 2, 8])).toBe('0–3, 8')
  expect(rankRanges([])).toBe('')
})
