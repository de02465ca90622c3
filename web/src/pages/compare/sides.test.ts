import { expect, test } from 'vitest'
import { compareQuery, numbersOf, sideA, waterfall } from './sides'

const scope = (ranks: readonly number[], kind: 'all' | 'set' | 'one' = 'one') => ({
  kind,
  ranks,
  unknown: [],
  pending: false,
})

test('two runs are compared with all their ranks, or with the same ones', () => {
  const b = { run: 'b', rank: null, step: null }
  const whole = compareQuery(sideA('a', scope([0, 1], 'all'), false, null, b), b)
  expect(whole).toEqual({ a: 'a', b: 'b', rank_a: null, rank_b: null, step_a: null, step_b: null })
  const one = compareQuery(sideA('a', scope([1]), true, 3, b), b)
  expect(one).toMatchObject({ rank_a: [1], rank_b: [1], step_a: 3, step_b: 3 })
})

test('two ranks of one run: the first against the named one', () => {
  const b = { run: 'a', rank: '2', step: null }
  expect(compareQuery(sideA('a', scope([0, 1, 2], 'all'), false, null, b), b)).toMatchObject({
    rank_a: [0],
    rank_b: [2],
  })
  expect(numbersOf('0-2,7')).toEqual([0, 1, 2, 7])
})

test('the bars of the waterfall lead from A to B', () => {
  const side = (period_us: number) => ({ period_us }) as never
  const steps = waterfall({
    a: side(100),
    b: side(130),
    explained: [{ delta_us: 50 }, { delta_us: -20 }] as never,
  })
  expect(steps.map((step) => step.key)).toEqual(['a', 'e0', 'e1', 'b'])
  expect(steps[1]?.from).toBe(steps[0]?.to)
  expect(steps[2]?.from).toBe(steps[1]?.to)
  expect(steps[2]?.to).toBe(steps[3]?.to)
  expect(steps[1]?.to).toBe(1)
  // Steps of 100 to 150 are drawn from 75 on: their bars say that they are cut.
  expect([steps[0]?.cut, steps[3]?.cut]).toEqual([true, true])
})

test('bars that begin at zero are not cut', () => {
  const side = (period_us: number) => ({ period_us }) as never
  const steps = waterfall({ a: side(100), b: side(40), explained: [{ delta_us: -60 }] as never })
  expect([steps[0]?.cut, steps.at(-1)?.cut]).toEqual([false, false])
})
