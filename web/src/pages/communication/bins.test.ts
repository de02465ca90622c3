import { expect, test } from 'vitest'
import { binText, operationsIn, withEmptySizes } from './bins'

const bin = (name: string, from: number, count: number, group: string | null = null) => ({
  group,
  kind: 'all_reduce',
  name,
  from_us: from,
  to_us: 2 * from,
  count,
})

test('operations are told apart by group too, the one with most calls first', () => {
  const found = operationsIn([bin('a', 1, 2, 'tp'), bin('a', 2, 3, 'tp'), bin('a', 1, 7, 'dp')])
  expect(found.map((one) => [one.title, one.bins.length])).toEqual([
    ['a (dp)', 1],
    ['a (tp)', 2],
  ])
})

test('the unit of both ends is written once', () => {
  expect(binText('8 µs', '16 µs')).toBe('8 – 16 µs')
  expect(binText('512 µs', '1.02 ms')).toBe('512 µs – 1.02 ms')
})

test('sizes that no packet has stand between those that some have, of one transport', () => {
  const size = (transport: string, from: number) => ({
    transport,
    from_bytes: from,
    to_bytes: 2 * from,
    packets: 3,
    bytes: 3 * from,
    time_us: 1,
    gb_per_s: 1,
  })
  const filled = withEmptySizes([size('HCCS', 4), size('HCCS', 32), size('RDMA', 512)])
  expect(filled.map((one) => [one.transport, one.from_bytes, one.packets])).toEqual([
    ['HCCS', 4, 3],
    ['HCCS', 8, 0],
    ['HCCS', 16, 0],
    ['HCCS', 32, 3],
    ['RDMA', 512, 3],
  ])
})
