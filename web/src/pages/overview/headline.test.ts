import { expect, test } from 'vitest'
import type { RankSummary } from '../../api/schema'
import { headline, partsOf } from './headline'

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

test('a long interval comes first, whatever the device did', () => {
  expect(headline(rank({ interval_us: 400, free_us: 500 }))).toEqual({ verdict: 'interval', share: 0.4 })
})

test('the largest loss is named with its share of the step, from its begin to its end', () => {
  expect(headline(rank({ computing_us: 400, idle_us: 540 }))).toEqual({ verdict: 'free', share: 0.54 })
  expect(headline(rank({ computing_us: 400, exposed_communication_us: 450, idle_us: 140 }))).toEqual({
    verdict: 'communication',
    share: 0.45,
  })
  expect(headline(rank({ computing_us: 300, exposed_copy_us: 510 })).verdict).toBe('copy')
})

test('without notable losses the operators come first', () => {
  expect(headline(rank({}))).toEqual({ verdict: 'computing', share: 0.8 })
})

test('operators around others compute: their time is free by definition, but not idle', () => {
  const host = rank({ device_span_us: 1000, computing_us: 450, exposed_communication_us: 0, exposed_copy_us: 0 })
  const parts = partsOf({ ...host, free_us: 550, enclosing_us: 470, idle_us: 80 })
  expect(parts).toMatchObject({ span: 1000, computing: 450, enclosing: 470, idle: 80 })
  expect(headline({ ...host, free_us: 550, enclosing_us: 470, idle_us: 80 })).toEqual({
    verdict: 'computing',
    share: 0.92,
  })
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
  // Nothing was computed as far as is known, so nothing can be said to hide the communication or not.
  expect(headline(found)).toEqual({ verdict: 'communication_only', share: 0.8 })
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
  expect(headline(rank({ ...nothing, window }))).toEqual({ verdict: 'free', share: 0.8 })
  expect(headline(rank(nothing)).verdict).toBe('none')
  expect(partsOf(rank(nothing))).toBeNull()
})
