import { expect, test } from 'vitest'
import { alignment, asSideB, bySide, isSideB, ownRank, SIDE_B } from './sides'

test('ranks of side B are told apart everywhere in an answer', () => {
  expect(asSideB({ rank: 3, parents: [{ rank: 3, slice: 1 }], rank_name: 3, none: null })).toEqual({
    rank: SIDE_B + 3,
    parents: [{ rank: SIDE_B + 3, slice: 1 }],
    rank_name: 3,
    none: null,
  })
  expect([isSideB(SIDE_B), isSideB(7), ownRank(SIDE_B + 7), ownRank(7)]).toEqual([true, false, 7, 7])
})

test('what is asked for goes to its own run, and comes back to its place', () => {
  const keys = [{ rank: 1 }, { rank: SIDE_B }, { rank: 2 }]
  expect(bySide(keys)).toEqual([
    { side: 'a', items: [{ rank: 1 }, { rank: 2 }], places: [0, 2] },
    { side: 'b', items: [{ rank: 0 }], places: [1] },
  ])
})

test('B is put under A at the named steps, else at the first step that both have', () => {
  const a = [
    { step: 3, start: 100 },
    { step: 4, start: 200 },
  ]
  const b = [
    { step: 4, start: 5000 },
    { step: 5, start: 6000 },
  ]
  expect(alignment(a, b, null, null)).toBe(200 - 5000)
  expect(alignment(a, b, 3, 5)).toBe(100 - 6000)
  expect(alignment(a, [], null, null)).toBe(0)
})
