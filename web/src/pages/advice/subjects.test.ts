import { expect, test } from 'vitest'
import type { Finding } from '../../api/schema'
import { changesOf, readFactors, subjectsOf, writeFactors, type Recorded } from './subjects'

const finding = (kind: string, ranks: number[], operator: string | null = null): Finding =>
  ({ kind, ranks, where: { operator } }) as unknown as Finding

const recorded = (data_us: number, exposed_communication_us: number): Recorded =>
  ({ idle_by_cause: { data_us, host_us: 0 }, exposed_communication_us, exposed_copy_us: 0 }) as unknown as Recorded

test('what is accused comes first, by its number or name, then what takes time in a step', () => {
  const found = [finding('slow_rank', [5, 9]), finding('gc_pause', [0]), finding('compute_hotspot', [0], 'aten::mm')]
  expect(subjectsOf(found, recorded(3, 0), [0, 5]).map((one) => one.id)).toEqual(['rank:5', 'aten::mm', 'gc', 'data'])
})

test('a cause that the run lacks has no slider', () => {
  expect(subjectsOf([], recorded(0, 0), [0])).toEqual([])
  expect(subjectsOf([], recorded(0, 8), [0]).map((one) => one.id)).toEqual(['communication'])
  expect(subjectsOf([finding('data_starved', [0])], undefined, [0]).map((one) => one.id)).toEqual(['data'])
})

test('what keeps memory has no slider: a step would not be shorter without it', () => {
  expect(subjectsOf([finding('memory_leak', [0], 'aten::empty')], recorded(0, 0), [0])).toEqual([])
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
