import { expect, test } from 'vitest'
import type { PipelineOp, QueueCurve } from '../../api/schema'
import { chosenQueue, emptyAndFull, useOfRow } from './queues'

test('empty and full stretches join and last until the queue changes', () => {
  expect(emptyAndFull([0, 10, 20, 30, 40, 50], [0, 0, 3, 4, 4, 1], 4)).toEqual([
    { name: '', start: 0, end: 20, state: 'empty' },
    { name: '', start: 30, end: 50, state: 'full' },
  ])
})

test('a queue of unknown capacity is never called full, and the last sample has no length', () => {
  expect(emptyAndFull([0, 10, 20], [9, 9, 0], null)).toEqual([])
  expect(emptyAndFull([], [], 4)).toEqual([])
})

test('use in a stretch is a share of the capacity, or unknown without one', () => {
  expect(useOfRow({ op: 1, samples: 4, mean: 3, empty: 0.25, full_: 0.5, capacity: 4 })).toEqual([
    1,
    { samples: 4, use_share: 0.75, empty_share: 0.25, full_share: 0.5 },
  ])
  expect(useOfRow({ op: 1, samples: 4, mean: 3, empty: 0, full_: 0, capacity: null })[1].use_share).toBeNull()
})

test('the queue shown first is the one behind the slow stage, else the last before the training', () => {
  const queues = [{ op: 2 }, { op: 0 }] as QueueCurve[]
  const ops = [
    { op: 2, depth: 2 },
    { op: 0, depth: 0 },
  ] as PipelineOp[]
  expect(chosenQueue(queues, ops, null, 2)?.op).toBe(2)
  expect(chosenQueue(queues, ops, null, null)?.op).toBe(0)
  expect(chosenQueue(queues, ops, 2, 0)?.op).toBe(2)
  expect(chosenQueue([], ops, 2, 0)).toBeNull()
})
