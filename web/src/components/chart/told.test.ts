import { expect, test } from 'vitest'
import type { CurveSeries } from './timeOption'
import { toldPoints } from './told'

const curve = (times: number[], values: (number | null)[]): CurveSeries => ({
  name: 'a',
  times,
  values,
  colour: '',
  source: { question: 'memory.curves', entry: {}, field: 'allocated_bytes', times, values },
})
const drawn = (times: number[], values: (number | null)[]): [number, number | null][] =>
  times.map((time, index) => [time, values[index] ?? null])

test('the first, the highest and the last are told by their place in the answer', () => {
  const times = [0, 10, 20, 20, 30]
  const values = [1, 9, 5, 4, null]
  expect(toldPoints(curve(times, values), drawn(times, values))).toEqual([
    { field: 'allocated_bytes.0', value: 1 },
    { field: 'allocated_bytes.1', value: 9 },
    { field: 'allocated_bytes.3', value: 4 },
  ])
})

test('what is told is what is drawn, not what should be', () => {
  const told = toldPoints(curve([0, 10], [1, 9]), drawn([0, 10], [1, 8]))
  expect(told.at(-1)).toEqual({ field: 'allocated_bytes.1', value: 8 })
})

test('a curve that is no entry of an answer tells nothing', () => {
  const { source: _source, ...derived } = curve([0], [1])
  expect(toldPoints(derived, drawn([0], [1]))).toEqual([])
})
