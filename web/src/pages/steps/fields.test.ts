import { expect, test } from 'vitest'
import type { Step } from '../../api/schema'
import { periodParts, phaseLengths, valueOf } from './fields'

function step(more: Partial<Step>): Step {
  return {
    step: 1,
    duration_us: 100,
    period_us: 100,
    computing_us: 40,
    exposed_communication_us: 5,
    exposed_copy_us: 0,
    idle_us: 55,
    overlap_us: 0,
    interval_us: null,
    forward_backward_us: null,
    tail_us: null,
    ...more,
  } as Step
}
const ids = (steps: readonly Step[]): string[] => periodParts(steps).map((field) => field.id)

test('the parts of the period add up; the overlap of steps is a part where there is any', () => {
  expect(ids([step({})])).toEqual(['computing_us', 'exposed_communication_us', 'exposed_copy_us', 'idle_us'])
  const early = step({ idle_us: 65, overlap_us: -10 })
  const values = periodParts([early]).map((field) => valueOf(field, early) ?? 0)
  expect(values).toEqual([40, 5, 0, 65, -10])
  expect(values.reduce((sum, value) => sum + value, 0)).toBe(early.period_us)
})

test('steps without device work have no parts', () => {
  expect(
    ids([step({ computing_us: null, exposed_communication_us: null, exposed_copy_us: null, idle_us: null })]),
  ).toEqual([])
})

test('what lies in unknown phases stands in their place, and the known ones keep their length', () => {
  const lengths = (from: object): unknown[] => phaseLengths(from).map(({ field, value }) => [field?.id ?? null, value])
  expect(lengths({ duration_us: 100, interval_us: null, forward_backward_us: null, tail_us: 4 })).toEqual([
    [null, 96],
    ['tail_us', 4],
  ])
  expect(lengths({ duration_us: 100, interval_us: 10, forward_backward_us: null, tail_us: 4 })).toEqual([
    ['interval_us', 10],
    [null, 86],
    ['tail_us', 4],
  ])
  expect(lengths({ duration_us: 100, interval_us: 10, forward_backward_us: 70, tail_us: 20 })).toHaveLength(3)
  expect(lengths({ duration_us: 100, interval_us: null, forward_backward_us: null, tail_us: null })).toEqual([])
  // Inference has an interval and a forward pass only, however long its mark on the host lasts.
  expect(lengths({ duration_us: 100, interval_us: 0, forward_backward_us: 10, tail_us: null })).toEqual([
    ['interval_us', 0],
    ['forward_backward_us', 10],
  ])
})
