import { expect, test } from 'vitest'
import { openFromText, openToText } from './openRanks'
import { inOrder, stripOrderOf, usefulOrders } from './stripOrder'

const facts = [
  { rank: 0, host: 'node10', dp: 0, tp: 0, pp: 0 },
  { rank: 1, host: 'node2', dp: 0, tp: 1, pp: 0 },
  { rank: 2, host: 'node2', dp: 1, tp: 0, pp: 0 },
  { rank: 3, host: null, dp: 1, tp: 1, pp: 0 },
]

test('ranks are sorted by how far they are behind, by number, or by what they belong to', () => {
  const known = { slowest: [2, 0], facts }
  expect(inOrder([0, 1, 2, 3], 'slow', known)).toEqual([2, 0, 1, 3])
  expect(inOrder([3, 1, 2], 'number', known)).toEqual([1, 2, 3])
  expect(inOrder([0, 1, 2, 3], 'host', known)).toEqual([1, 2, 0, 3])
  expect(inOrder([0, 1, 2, 3], 'tp', known)).toEqual([0, 2, 1, 3])
})

test('only orders that tell ranks apart are offered', () => {
  expect(usefulOrders(facts)).toEqual(['slow', 'number', 'host', 'dp', 'tp'])
  expect(stripOrderOf('pp')).toBe('pp')
  expect(stripOrderOf('nonsense')).toBe('slow')
})

test('what was opened survives the address; foreign text does not', () => {
  const open = new Map([
    [3, 2],
    [5, 0],
  ] as const)
  expect(openFromText(openToText(open) ?? '')).toEqual(open)
  expect(openToText(new Map())).toBeNull()
  expect(openFromText('x,7.9,4.1').size).toBe(1)
})
