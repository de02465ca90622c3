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
    window: null,
    ...more,
  } as RankSummary
}

test('a long interval comes first, whatever the device did', () => {
  expect(headline(rank({ interval_us: 400, free_us: 500 }))).toEqual({ verdict: 'interval', share: 0.4 })
})

test('the largest loss is named with its share of the device span', () => {
  expect(headline(rank({ computing_us: 400, free_us: 440 })).verdict).toBe('free')
  expect(headline(rank({ computing_us: 400, exposed_communication_us: 450, free_us: 40 }))).toEqual({
    verdict: 'communication',
    share: 0.5,
  })
  expect(headline(rank({ computing_us: 300, exposed_copy_us: 510 })).verdict).toBe('copy')
})

test('without notable losses the operators come first', () => {
  expect(headline(rank({}))).toEqual({ verdict: 'computing', share: 800 / 900 })
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
