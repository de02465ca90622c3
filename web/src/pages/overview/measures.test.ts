import { expect, test } from 'vitest'
import type { Finding, RankRow } from '../../api/schema'
import { largestFirst, measuresOf, tellingMeasure } from './measures'

const row = (rank: number, more: Partial<RankRow>): RankRow =>
  ({ rank, period_us: 100, computing_us: 60, delay_us: 0, ...more }) as RankRow
const accusing = (kind: string, cause: string | null): readonly Finding[] => [{ kind, cause } as Finding]
// The ranks of a slow stage compute longer; those of the stage before wait for them and come late, too.
const ROWS = [row(0, { delay_us: 9 }), row(1, { delay_us: 8 }), row(2, { delay_us: 7, computing_us: 90 })]

test('ranks that compute longer are told from those that they make late', () => {
  const known = measuresOf(ROWS)
  expect(tellingMeasure(accusing('slow_host', 'compute'), known)?.id).toBe('computing')
  expect(tellingMeasure(accusing('stage_imbalance', 'last_stage'), known)?.id).toBe('computing')
  expect(largestFirst(ROWS, tellingMeasure(accusing('slow_host', 'compute'), known)).map((one) => one.rank)).toEqual([
    2, 0, 1,
  ])
})

test('links, hosts that launch late, and nothing at all are seen by who comes late', () => {
  const known = measuresOf(ROWS)
  for (const [kind, cause] of [
    ['slow_link', 'link'],
    ['slow_rank', 'host'],
  ] as const)
    expect(tellingMeasure(accusing(kind, cause), known)?.id).toBe('late')
  expect(tellingMeasure([], known)?.id).toBe('late')
})

test('where nobody was seen to be late that is no measure', () => {
  const known = measuresOf([row(0, {}), row(1, { delay_us: null })])
  expect(known.map(({ id }) => id)).toEqual(['period', 'computing', 'communication', 'idle'])
})
