import { expect, test } from 'vitest'
import { atCommonTimes } from './commonTimes'

const curve = (name: string, times: number[], values: number[]) =>
  ({ name, times, values, colour: '--compute' }) as const

test('stacked curves have their values at the same moments, held from the last one known', () => {
  const [first, second] = atCommonTimes([curve('a', [0, 10, 20], [1, 2, 3]), curve('b', [5, 20, 20], [7, 8, 9])])
  expect(first?.times).toEqual([0, 5, 10, 20])
  expect(second?.times).toEqual(first?.times)
  expect(first?.values).toEqual([1, 1, 2, 3])
  expect(second?.values).toEqual([0, 7, 7, 9])
})
