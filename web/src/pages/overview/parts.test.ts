import { expect, test } from 'vitest'
import type { RankSummary } from '../../api/schema'
import { copiesLead, inOrder, partsOf } from './parts'

function rank(more: Partial<RankSummary>): RankSummary {
  return {
    rank: 0,
    period_us: 1000,
    computing_us: 800,
    exposed_communication_us: 60,
    exposed_copy_us: 10,
    idle_us: 130,
    overlap_us: 0,
    window: null,
    ...more,
  } as RankSummary
}
const window = {
  span_us: 5000,
  busy_us: 4000,
  computing_us: 0,
  exposed_communication_us: 4000,
  exposed_copy_us: 0,
  free_us: 1000,
}

test('the parts of a step are those of its period', () => {
  const parts = partsOf(rank({ overlap_us: 0 }))
  expect(parts).toEqual({
    of: 'step',
    span: 1000,
    computing: 800,
    exposedCommunication: 60,
    exposedCopy: 10,
    idle: 130,
    overlap: 0,
  })
})

test('work of the device that no step knows is told as that of the whole capture', () => {
  expect(partsOf(rank({ idle_us: null, window }))).toMatchObject({ of: 'capture', span: 5000, idle: 1000 })
})

test('without device work nothing is told', () => {
  expect(partsOf(rank({ idle_us: null }))).toBeNull()
})

test('ranks stand by their numbers, or the largest of a part first', () => {
  const rows = [0, 1, 2].flatMap((number) => {
    const parts = partsOf(rank({ computing_us: [5, 9, 5][number] ?? 0 }))
    return parts ? [{ rank: number, ...parts }] : []
  })
  const order = (by: 'rank' | 'computing'): number[] => inOrder(rows.toReversed(), by).map((row) => row.rank)
  expect(order('rank')).toEqual([0, 1, 2])
  expect(order('computing')).toEqual([1, 0, 2])
})

test('copies are told beside computing where they cost more than communication and than idle time', () => {
  expect(copiesLead(0.97, 0, 0.007)).toBe(true)
  expect(copiesLead(0.002, 0, 0.008)).toBe(false)
  expect(copiesLead(0.04, 0.83, 0.04)).toBe(false)
})
