import { expect, test } from 'vitest'
import type { MemoryPicture } from '../api/schema'
import { stairs } from './memoryCurve'

const picture = (more: Partial<MemoryPicture>): MemoryPicture => ({
  finding: 'f',
  rank: 0,
  device: 'cuda:0',
  start_ns: '1700000000000000000',
  moment_ns: 50,
  capacity_bytes: null,
  others_bytes: null,
  time_ns: [0, 50, 100],
  steps: [],
  allocated_bytes: [10, 40, 20],
  reserved_bytes: null,
  ...more,
})

test('a value holds until the next, and the moment lies where it is', () => {
  const drawn = stairs(picture({}))
  expect(drawn.allocated).toBe('M0 100H0V75H500V0H1000V50H1000V100Z')
  expect([drawn.reserved, drawn.others, drawn.moment]).toEqual([null, null, 500])
})

test('a moment behind the last change is in the picture, and the last value holds until then', () => {
  const drawn = stairs(picture({ moment_ns: 400 }))
  expect(drawn.allocated).toBe('M0 100H0V75H125V0H250V50H1000V100Z')
  expect(drawn.moment).toBe(998)
})

test('what others hold lies above all that is ours', () => {
  const drawn = stairs(picture({ reserved_bytes: [40, 40, 40], others_bytes: 160 }))
  expect(drawn.others).toBe(80)
  expect(drawn.reserved).toBe('M0 80H0V80H500V80H1000V80H1000')
})

test('steps stand side by side, each as wide as the other', () => {
  const drawn = stairs(picture({ time_ns: [], moment_ns: null, steps: [3, 4], allocated_bytes: [5, 10] }))
  expect(drawn.allocated).toBe('M0 100H0V50H500V0H1000V100Z')
  expect(drawn.moment).toBeNull()
})
