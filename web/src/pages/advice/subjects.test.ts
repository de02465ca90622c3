import { expect, test } from 'vitest'
import type { Finding } from '../../api/schema'
import { changesOf, readFactors, subjectsOf, writeFactors } from './subjects'

const finding = (kind: string, ranks: number[], operator: string | null = null): Finding =>
  ({ kind, ranks, where: { operator } }) as unknown as Finding

test('what is accused comes first, by its number or name, then what every run has', () => {
  const found = [finding('slow_rank', [5]), finding('gc_pause', [0]), finding('compute_hotspot', [0], 'aten::mm')]
  expect(subjectsOf(found).map((one) => one.id)).toEqual(['rank:5', 'aten::mm', 'gc', 'data', 'host', 'communication'])
})

test('only what was moved is changed; a rank becomes like the others', () => {
  expect(changesOf({ data: 0.5, host: 1, 'rank:5': 0, 'void add<float*>': 0.25 })).toEqual([
    'data*0.5',
    'rank:5=median',
    'void add<float*>*0.25',
  ])
})

test('factors survive the address', () => {
  const factors = { data: 0.5, 'rank:5': 0, 'void add<float*>': 0.25 }
  expect(readFactors(writeFactors(factors) ?? '')).toEqual(factors)
  expect(writeFactors({ data: 1 })).toBeNull()
  expect(readFactors('data;nonsense*x')).toEqual({})
})
