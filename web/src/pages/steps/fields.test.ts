import { expect, test } from 'vitest'
import type { Step } from '../../api/schema'
import { deviceParts, medians, phaseLengths, valueOf } from './fields'

function step(more: Partial<Step>): Step {
  return {
    step: 1,
    duration_us: 100,
    device_span_us: 100,
    computing_us: 40,
    exposed_communication_us: 5,
    exposed_copy_us: 0,
    free_us: 55,
    enclosing_us: 0,
    interval_us: null,
    forward_backward_us: null,
    tail_us: null,
    ...more,
  } as Step
}
const ids = (steps: readonly Step[]): string[] => deviceParts(steps).map((field) => field.id)

test('the parts of the device span add up, and time around operators is a part of its own where there is any', () => {
  expect(ids([step({})])).toEqual(['computing_us', 'exposed_communication_us', 'exposed_copy_us', 'free_us'])
  const host = step({ enclosing_us: 45 })
  expect(ids([step({}), host])).toContain('enclosing_us')
  const values = deviceParts([host]).map((field) => [field.id, valueOf(field, host)])
  expect(values).toEqual([
    ['computing_us', 40],
    ['enclosing_us', 45],
    ['exposed_communication_us', 5],
    ['exposed_copy_us', 0],
    ['free_rest_us', 10],
  ])
})

test('steps without device work have no parts', () => {
  expect(ids([step({ computing_us: null, exposed_communication_us: null, exposed_copy_us: null })])).toEqual([])
})

test('the median of what remains free is that of the steps, not of other medians', () => {
  const steps = [
    step({ free_us: 50, enclosing_us: 10 }),
    step({ free_us: 60, enclosing_us: 55 }),
    step({ free_us: 70, enclosing_us: 50 }),
  ]
  // 40, 5 and 20: their median is 20; the medians' difference would be 60 - 50 = 10.
  expect(medians(steps)['free_rest_us']).toBe(20)
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
})
