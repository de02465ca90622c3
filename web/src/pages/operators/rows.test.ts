import { expect, test } from 'vitest'
import type { Operator } from '../../api/schema'
import { counterNames, isPicked, keyOf, pickedRow, siteName, subTotal } from './rows'

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

test('a sub-total adds calls, time and shares of the chosen rows', () => {
  expect(subTotal([rows[1], rows[3]] as Operator[])).toEqual({
    rows: 2,
    count: 4,
    total_us: 60,
    share: 0.6000000000000001,
  })
})

test('a row is picked by all that tells it apart, or by its name alone', () => {
  const [one, other] = [row('gemm', 1, { core: 'GPU' }), row('gemm', 2, { core: 'CPU' })]
  expect(pickedRow([one, other], [keyOf(other)])).toBe(other)
  expect(isPicked(one, [keyOf(other)])).toBe(false)
  expect(pickedRow([one, other], ['gemm'])).toBe(one)
  expect(isPicked(other, ['gemm'])).toBe(true)
  expect(pickedRow([one, other], ['gone'])).toBeNull()
  const unnamed = row('', 3, { name: null })
  expect(keyOf(unnamed)).not.toBe('')
  expect(pickedRow([one, unnamed], [keyOf(unnamed)])).toBe(unnamed)
})

test('a stack is named by the line of the user’s own program', () => {
  const frames = [
    'train.py(9): main',
    'net.py(3): forward',
    'torch/nn/modules/linear.py(130): forward',
    '<built-in linear>',
  ]
  expect(siteName(frames)).toBe('net.py(3): forward')
  expect(siteName(['<built-in linear>'])).toBe('<built-in linear>')
})

test('counters that say something stand first', () => {
  const some = [row('a', 1, { pmu: { zero: 0, mac: 0.5 } }), row('b', 1, { pmu: { late: null, zero: 0 } })]
  expect(counterNames(some)).toEqual(['mac', 'late', 'zero'])
})
