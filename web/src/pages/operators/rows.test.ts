import { expect, test } from 'vitest'
import type { Operator } from '../../api/schema'
import { counterNames, filtered, shortened, subTotal, topRows } from './rows'

function row(name: string, total_us: number, more: Partial<Operator> = {}): Operator {
  return {
    rank: 0,
    name,
    type: name,
    core: null,
    side: 'device',
    operator: null,
    category: null,
    count: 2,
    total_us,
    avg_us: total_us / 2,
    min_us: 0,
    p50_us: 0,
    p95_us: 0,
    max_us: total_us,
    share: total_us / 100,
    busy_share: null,
    per_step_us: null,
    steps: 1,
    self_us: null,
    device_total_us: null,
    device_self_us: null,
    input_shapes: null,
    dtypes: null,
    pmu: null,
    ...more,
  }
}

const rows = [row('a', 10), row('b', 40), row('c', 30), row('d', 20)]

test('the chart shows the highest and the rest, and loses nothing', () => {
  const top = topRows(rows, 'total_us', 3)
  expect(top.map((one) => [one.row?.name ?? null, one.value, one.others])).toEqual([
    ['b', 40, 0],
    ['c', 30, 0],
    ['d', 20, 0],
    [null, 10, 1],
  ])
  expect(top.reduce((sum, one) => sum + one.value, 0)).toBe(100)
})

test('means do not add up, so they have no rest', () => {
  expect(topRows(rows, 'avg_us', 3).map((one) => one.row?.name)).toEqual(['b', 'c', 'd'])
})

test('a sub-total adds calls, time and shares of the chosen rows', () => {
  expect(subTotal([rows[1], rows[3]] as Operator[])).toEqual({
    rows: 2,
    count: 4,
    total_us: 60,
    share: 0.6000000000000001,
  })
})

test('rows are narrowed to a type and to a category', () => {
  const some = [row('a', 1, { category: 'matmul' }), row('b', 1), row('c', 1, { category: 'copy' })]
  expect(filtered(some, null, 'other').map((one) => one.name)).toEqual(['b'])
  expect(filtered(some, 'a', 'matmul').map((one) => one.name)).toEqual(['a'])
  expect(filtered(some, 'a', 'copy')).toEqual([])
})

test('counters that say something stand first', () => {
  const some = [row('a', 1, { pmu: { zero: 0, mac: 0.5 } }), row('b', 1, { pmu: { late: null, zero: 0 } })]
  expect(counterNames(some)).toEqual(['mac', 'late', 'zero'])
})

test('long kernel names keep both ends', () => {
  const name = 'void at::native::elementwise_kernel<128, 4>'
  expect(shortened(name, 20)).toHaveLength(20)
  expect(shortened(name, 20).startsWith('void at::')).toBe(true)
  expect(shortened(name, 20).endsWith('4>')).toBe(true)
  expect(shortened('mm', 20)).toBe('mm')
})
