import { expect, test } from 'vitest'
import type { Link } from '../../api/schema'
import { linkCells, recordedMeasures, transportCells, transportsOf, waitCells } from './measures'

const link = (rank: number, peer: number, transport: string, packets: number | null = null): Link => ({
  rank,
  peer,
  transport,
  bytes: 4_000_000,
  time_us: 1000,
  gb_per_s: 4,
  packets,
})

test('a wait stands with the rank that came last, or with the one that it goes back to', () => {
  const waits = [{ rank: 0, blames: 1, root: 2, wait_us: 5, calls: 1 }]
  expect(waitCells(waits, 'blames')).toEqual([{ row: 0, column: 1, value: 5 }])
  expect(waitCells(waits, 'root')).toEqual([{ row: 0, column: 2, value: 5 }])
})

test('links are told apart by transport, and copies within a rank are none', () => {
  const links = [link(0, 0, 'LOCAL'), link(0, 1, 'RDMA'), link(1, 0, 'HCCS')]
  expect(transportsOf(links)).toEqual(['HCCS', 'RDMA'])
  expect(linkCells(links, 'bytes', null)).toHaveLength(2)
  expect(linkCells(links, 'time_us', 'RDMA')).toEqual([{ row: 0, column: 1, value: 1000 }])
})

test('bandwidth is bytes over time: 4 MB in 1 ms are 4 GB/s', () => {
  const [cell] = linkCells([link(0, 1, 'HCCS')], 'gb_per_s', null)
  expect((cell?.value ?? 0) / (cell?.per ?? 0)).toBe(4)
})

test('only recorded measures are offered', () => {
  expect(recordedMeasures([link(0, 1, 'HCCS')])).toEqual(['gb_per_s', 'bytes', 'time_us'])
  expect(recordedMeasures([link(0, 1, 'HCCS', 3)])).toContain('packets')
  expect(recordedMeasures([])).toEqual([])
})

test('of two transports between the same ranks the one that carried more is shown', () => {
  const links = [
    link(0, 1, 'RDMA'),
    { ...link(0, 1, 'HCCS'), bytes: 5_000_000 },
    link(1, 0, 'RDMA'),
    link(2, 2, 'LOCAL'),
  ]
  const cells = transportCells(links, ['HCCS', 'RDMA'])
  expect(cells).toEqual([
    { row: 0, column: 1, value: 0 },
    { row: 1, column: 0, value: 1 },
  ])
})
