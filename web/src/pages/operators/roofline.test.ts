import { expect, test } from 'vitest'
import type { OperatorFlops, RankFlops } from '../../api/schema'
import { decades, placed, roofs } from './roofline'

const rank = { peaks_flops_per_s: { bf16: 1000, fp32: 100 }, memory_bytes_per_s: 10 } as unknown as RankFlops
const one = (dtype: string, intensity: number | null = 5, flops_per_s: number | null = 20): OperatorFlops =>
  ({ dtype, intensity, flops_per_s }) as OperatorFlops

test('the roof rises with the bandwidth to the ridge and is level after it', () => {
  expect(roofs(rank, [one('bf16')], [1, 1000])).toEqual([
    {
      dtype: 'bf16',
      peak: 1000,
      points: [
        [1, 10],
        [100, 1000],
        [1000, 1000],
      ],
    },
  ])
})

test('without a known bandwidth only the level is drawn, and unused types have no roof', () => {
  const levels = roofs({ ...rank, memory_bytes_per_s: null }, [one('fp32')], [1, 10])
  expect(levels.map((roof) => [roof.dtype, roof.points])).toEqual([
    [
      'fp32',
      [
        [1, 100],
        [10, 100],
      ],
    ],
  ])
})

test('a ridge outside the chart leaves one straight line', () => {
  expect(roofs(rank, [one('bf16')], [1, 50])[0]?.points).toEqual([
    [1, 10],
    [50, 500],
  ])
  expect(roofs(rank, [one('bf16')], [200, 5000])[0]?.points[0]).toEqual([200, 1000])
})

test('only operators with intensity and rate stand on the chart', () => {
  expect(placed([one('a'), one('b', null), one('c', 3, null), one('d', 0)])).toHaveLength(1)
  expect(decades([3, 250])).toEqual([1, 1000])
  expect(decades([])).toEqual([0.1, 1000])
})
