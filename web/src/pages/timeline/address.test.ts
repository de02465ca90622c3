import { expect, test } from 'vitest'
import type { StepMark } from '../../api/timeline'
import { makeRank, makeTracks } from '../../testing/tracks'
import { RunModel } from '../../timeline/model'
import { openingSpan } from './address'

const mark = (step: number, start: number, length: number): StepMark => ({
  step,
  at_ns: start,
  dur_ns: length,
  device_at_ns: null,
  device_dur_ns: null,
  period_at_ns: start,
  period_dur_ns: length,
  warm_up: false,
  incomplete: false,
})
const modelOf = (...steps: (readonly StepMark[])[]): RunModel =>
  new RunModel(makeTracks(steps.map((marks, rank) => makeRank(rank, { steps: marks }))))

test('the longest step of all that is shown, whole on each rank, with a fiftieth of room on both sides', () => {
  const model = modelOf([mark(1, 0, 100), mark(2, 100, 100)], [mark(1, 10, 100), mark(2, 90, 140)])
  // Step 2 lasts from 90 to 230 on rank 1, from 100 to 200 on rank 0.
  expect(openingSpan(model, {})).toEqual({ start: 90 - 2.8, end: 230 + 2.8 })
  expect(openingSpan(model, { step: '1' })).toEqual({ start: 0 - 2.2, end: 110 + 2.2 })
})

test('ranks that were recorded at another time do not stretch it', () => {
  expect(openingSpan(modelOf([mark(1, 0, 100)], [mark(1, 5000, 90)]), {})).toEqual({ start: -2, end: 102 })
})

test('without steps there is none', () => {
  expect(openingSpan(modelOf([]), {})).toBeNull()
  expect(openingSpan(null, {})).toBeNull()
})
