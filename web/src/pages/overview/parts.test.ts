import { expect, test } from 'vitest'
import type { RankSummary } from '../../api/schema'
import { partsOf } from './parts'

function rank(more: Partial<RankSummary>): RankSummary {
  return {
    rank: 0,
    duration_us: 1000,
    interval_us: 50,
    device_span_us: 900,
    computing_us: 800,
    exposed_communication_us: 60,
    exposed_copy_us: 10,
    free_us: 30,
    enclosing_us: 0,
    idle_us: 130,
    window: null,
    ...more,
  } as RankSummary
}

test('operators around others compute: their time is free by definition, but not idle', () => {
  const host = rank({ device_span_us: 1000, computing_us: 450, exposed_communication_us: 0, exposed_copy_us: 0 })
  const parts = partsOf({ ...host, free_us: 550, enclosing_us: 470, idle_us: 80 })
  expect(parts).toMatchObject({ span: 1000, computing: 450, enclosing: 470, idle: 80 })
})

test('work of the device that no step knows is told as that of the whole capture', () => {
  const window = {
    span_us: 5000,
    busy_us: 4000,
    computing_us: 0,
    exposed_communication_us: 4000,
    exposed_copy_us: 0,
    free_us: 1000,
  }
  const found = rank({ device_span_us: null, computing_us: null, free_us: null, idle_us: null, window })
  expect(partsOf(found)).toMatchObject({ of: 'capture', span: 5000, idle: 1000 })
})

test('without steps the whole window speaks, without device work nothing does', () => {
  const nothing = { duration_us: null, interval_us: null, device_span_us: null, computing_us: null, free_us: null }
  const window = {
    span_us: 100,
    busy_us: 20,
    computing_us: 20,
    exposed_communication_us: 0,
    exposed_copy_us: 0,
    free_us: 80,
  }
  expect(partsOf(rank({ ...nothing, window }))).toMatchObject({ of: 'capture', span: 100, computing: 20, idle: 80 })
  expect(partsOf(rank(nothing))).toBeNull()
})
