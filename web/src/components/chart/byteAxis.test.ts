import { expect, test } from 'vitest'
import fc from 'fast-check'
import { byteTicks } from './byteAxis'

const MIB = 1024 ** 2

test('sizes have ticks at round numbers of their unit', () => {
  expect(byteTicks(151.3 * MIB)).toMatchObject({ interval: 50 * MIB, max: 200 * MIB })
  expect(byteTicks(1.3 * 1024 * MIB)).toMatchObject({ interval: 0.25 * 1024 * MIB, max: 1.5 * 1024 * MIB })
  expect(byteTicks(0)).toMatchObject({ interval: 1, max: 1 })
})

test('any size fits below the end of its axis, with few ticks', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 50 }), (size) => {
      const { interval, max } = byteTicks(size)
      expect(max).toBeGreaterThanOrEqual(size)
      expect(max / interval).toBeLessThanOrEqual(11)
    }),
  )
})
