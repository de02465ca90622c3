import { expect, test } from 'vitest'
import type { OutOfMemory } from '../../api/schema'
import { heldByOthers } from './words'

const failure = (cause: string, device: string, others: number | null): OutOfMemory => ({
  rank: 0,
  device,
  time_ns: 0,
  step: null,
  cause,
  requested_bytes: null,
  device_free_bytes: null,
  reserved_bytes: null,
  pool_free_bytes: null,
  largest_free_bytes: null,
  capacity_bytes: null,
  others_bytes: others,
  stack: null,
})

test('others hold what a failed request missed because of them, on the device that is shown', () => {
  const out_of_memory = [
    failure('others', 'cuda:0', 70),
    failure('others', 'cuda:0', 78),
    failure('others', 'cuda:1', 90),
    failure('fragmentation', 'cuda:0', 99),
  ]
  expect(heldByOthers({ rank: 0, device: 'cuda:0', out_of_memory })).toBe(78)
  expect(heldByOthers({ rank: 1, device: 'cuda:0', out_of_memory })).toBe(0)
})
