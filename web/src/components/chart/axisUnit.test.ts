import { expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import { sizeTicks, timeTicks } from './axisUnit'

language.set('en')
const written = (axis: ReturnType<typeof timeTicks>, ticks: readonly number[]): readonly string[] =>
  ticks.map(axis.axisLabel.formatter)

test('all ticks of an axis have the unit of the largest value', () => {
  expect(written(timeTicks([120, null, 1_150]), [0, 200, 1_000])).toEqual(['0', '0.2 ms', '1 ms'])
  expect(written(timeTicks([980, 12]), [0, 500, 1_000])).toEqual(['0', '500 µs', '1,000 µs'])
  expect(written(timeTicks([10_450, -4]), [-2_000, 0, 12_000])).toEqual(['−2 ms', '0', '12 ms'])
  expect(written(sizeTicks(1.3 * 1024 ** 3), [0, 256 * 1024 ** 2, 1024 ** 3])).toEqual(['0', '0.25 GiB', '1 GiB'])
})

test('an axis of nothing has the smallest unit', () => {
  expect(written(timeTicks([]), [0, 1e-3])).toEqual(['0', '1 ns'])
  expect(written(sizeTicks(0), [0, 1])).toEqual(['0', '1 B'])
})
