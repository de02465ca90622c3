import { expect, test } from 'vitest'
import type { Finding, RunDetails } from '../api/schema'
import { bandsOf } from './bands'

const RUN = {
  origin_ns: '1000000',
  rank_list: [
    { rank: 0, clock_offset_ns: '0' },
    { rank: 3, clock_offset_ns: '-500' },
  ],
  tables: { slices: 9, steps: 2 },
  analyses: [],
} as unknown as RunDetails

function finding(id: string, severity: string, rank: number): Finding {
  const proof = { rank, page: 'timeline', start_ns: '1002000', end_ns: '1005000', slices: [] }
  return { id, severity, kind: 'idle_gap', steps: [], where: {}, proof: [proof] } as unknown as Finding
}

test('what accuses is marked where its proof lies on the clock of the run, the most serious above the others', () => {
  const findings = [finding('a', 'critical', 0), finding('b', 'warning', 3), finding('c', 'info', 0)]
  const bands = bandsOf(findings, RUN, [0, 3])
  expect(bands.map(({ finding: { id }, rank, start, end }) => [id, rank, start, end])).toEqual([
    ['b', 3, 1500, 4500],
    ['a', 0, 2000, 5000],
  ])
  expect(bands[0]?.link.params).toMatchObject({ rank: '3', range: '1500-4500', tour: 'b', stop: '0' })
})

test('ranks that are not shown have no marks', () => {
  expect(bandsOf([finding('a', 'critical', 3)], RUN, [0])).toEqual([])
})
