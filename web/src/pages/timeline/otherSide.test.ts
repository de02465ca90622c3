import { expect, test } from 'vitest'
import { SIDE_B } from '../../timeline/sides'
import { OtherSide } from './otherSide.svelte'

/** Side B with these ranks, of a run that is there. */
function sideOf(ranks: readonly number[], named: string | null): OtherSide {
  const side = Object.create(OtherSide.prototype) as OtherSide
  Object.defineProperty(side, 'session', { value: { versus: { run: 'b', rank: named, step: null } } })
  Object.defineProperty(side, 'ranks', { value: ranks.map((rank) => SIDE_B + rank) })
  return side
}

test('each rank of B stands below its twin: by number, or in the order in which they are named', () => {
  expect(sideOf([0, 1, 2], null).below([2, 0, 3])).toEqual([2, SIDE_B + 2, 0, SIDE_B, 3, SIDE_B + 1])
  expect(sideOf([7, 8], '7,8').below([0, 1])).toEqual([0, SIDE_B + 7, 1, SIDE_B + 8])
  expect(sideOf([4], null).below([0])).toEqual([0, SIDE_B + 4])
  expect(sideOf([], null).below([0, 1])).toEqual([0, 1])
})

test('B moves as a whole, and the address names one offset for all of it', () => {
  const side = sideOf([0, 1, 2], null)
  const own = new Map([[SIDE_B, -500]])
  const spread = side.spread(own)
  expect([...spread]).toEqual([
    [SIDE_B, -500],
    [SIDE_B + 1, -500],
    [SIDE_B + 2, -500],
  ])
  expect([...side.gathered(spread)]).toEqual([...own])
  const moved = new Map(spread).set(SIDE_B + 1, 30).set(3, 12)
  expect([...side.gathered(moved)]).toEqual([
    [SIDE_B, -500],
    [SIDE_B + 1, 30],
    [3, 12],
  ])
})
