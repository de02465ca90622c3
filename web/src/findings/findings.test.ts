import { cleanup, render, screen } from '@testing-library/svelte'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Finding, Proof, RunDetails } from '../api/schema'
import { language } from '../i18n/language.svelte'
import FindingCard from './FindingCard.svelte'
import { hiddenGainUs } from './hiddenGain'
import { proofLink } from './links'
import { stopsOf } from './tour'
import { pagesOf } from './pages'
import { firstProofLink } from './proofs'
import { worstOf } from './severity'

beforeEach(() => language.set('en'))
afterEach(cleanup)

const RUN = {
  origin_ns: '1700000000000000000',
  tables: { slices: 9, steps: 3 },
  rank_list: [
    { rank: 0, clock_offset_ns: '0' },
    { rank: 2, clock_offset_ns: '-500' },
  ],
} as unknown as RunDetails

function finding(more: Partial<Finding>): Finding {
  return {
    id: 'host_bound-1',
    kind: 'host_bound',
    severity: 'warning',
    cause: 'dispatch',
    confidence: 'likely',
    title: { en: 'The device of rank 2 waits for the host', zh: 'rank 2 的设备在等待主机' },
    ranks: [2],
    steps: [7],
    where: {},
    evidence: [
      {
        metric: 'idle_for_host_share',
        label: { en: 'idle because of the host', zh: '因主机而空闲' },
        value: 0.25,
        unit: 'share',
        baseline: 0.1,
        link: 'steps',
      },
    ],
    gain_us: 33_700,
    gain_share: 0.22,
    gain_method: 'idle_removed',
    advice: { en: 'Fuse small operators.', zh: '融合小算子。' },
    proof: [],
    validate_with: null,
    next_commands: [],
    ...more,
  } as Finding
}
const proof = (more: Partial<Proof>): Proof => ({ rank: 2, page: 'timeline', ...more })

test('a stretch of a rank’s time is shown on the run’s clock, with room around it and as the chosen range', () => {
  const stretch = proof({ start_ns: '1700000000000010500', end_ns: '1700000000000014500', slices: [5] })
  expect(proofLink(stretch, finding({}), RUN)).toEqual({
    page: 'timeline',
    params: { rank: '2', step: null, t: '9000-15000', range: '10000-14000' },
  })
})

test('slices are selected, and without either the step is shown', () => {
  const { params } = proofLink(proof({ slices: [5, 9] }), finding({}), RUN)
  expect(params).toEqual({ rank: '2', step: null, t: null, sel: '2:5,2:9' })
  expect(proofLink(proof({}), finding({}), RUN).params).toEqual({ rank: '2', t: null, step: '7' })
})

test('a leak is proved on its tab of the memory page', () => {
  const found = proofLink(proof({ page: 'memory' }), finding({ kind: 'memory_leak' }), RUN)
  expect(found).toEqual({ page: 'memory', params: { rank: '2', t: null, tab: 'leaks' } })
})

test('a slow group is proved among its calls', () => {
  const slow = finding({ kind: 'slow_link', where: { group: 'dp_0' } as Finding['where'] })
  const params = { rank: null, t: null, group: 'dp_0' }
  expect(proofLink(proof({ page: 'communication' }), slow, RUN)).toEqual({ page: 'communication', params })
})

test('a slow link is proved where the links are; its two ends are one stop', () => {
  const ends = [proof({ page: 'communication', rank: 2 }), proof({ page: 'communication', rank: 10 })]
  const slow = finding({ kind: 'slow_link', where: { link: '2-10' } as Finding['where'], proof: ends })
  const params = { rank: null, t: null, group: null, at: 'links' }
  expect(stopsOf(slow, RUN)).toEqual([{ page: 'communication', params }])
})

test('proofs at different moments are stops of their own', () => {
  const moments = [proof({ start_ns: '1100', end_ns: '1200' }), proof({ start_ns: '1500', end_ns: '1600' })]
  expect(stopsOf(finding({ proof: moments }), RUN)).toHaveLength(2)
})

test('what saves nothing alone is told with what it saves together with another', () => {
  const evidence = (value: number): Finding['evidence'][number] =>
    ({ metric: 'gain_together', value, unit: 'us' }) as Finding['evidence'][number]
  expect(hiddenGainUs(finding({ gain_us: 0, evidence: [evidence(30), evidence(50)] }))).toBe(50)
  expect(hiddenGainUs(finding({ gain_us: 10, evidence: [evidence(30)] }))).toBeNull()
  expect(hiddenGainUs(finding({ gain_us: 0, evidence: [] }))).toBeNull()
})

test('a page shows findings that it proves or whose numbers it has; the most serious gives its dot', () => {
  const slow = finding({ proof: [proof({})] })
  const leak = finding({ severity: 'critical', evidence: [], proof: [proof({ page: 'memory' })] })
  expect([...pagesOf(slow)].toSorted()).toEqual(['steps', 'timeline'])
  expect(worstOf('timeline', [slow, leak])).toBe('warning')
  expect(worstOf('memory', [slow, leak])).toBe('critical')
  expect(worstOf('data', [slow, leak])).toBeNull()
})

test('a card says what, how serious, on what evidence, what it gains and what to do, and carries the exact values', () => {
  const { container } = render(FindingCard, { props: { finding: finding({ proof: [proof({})] }), run: RUN } })
  for (const words of ['The device of rank 2 waits for the host', 'needs work', 'Fuse small operators.', '25.0%'])
    expect(screen.getByText(words)).toBeTruthy()
  expect(container.querySelector('[data-field="gain_us"]')?.getAttribute('data-value')).toBe('33700')
  expect(screen.getByText('vs. 10.0%')).toBeTruthy()
  expect(screen.getByText('Show me').getAttribute('href')).toContain('rank=2')
})

test('a slow rank is shown beside one that waits for it at that moment', () => {
  const slow = proof({ start_ns: '1700000000000010500', end_ns: '1700000000000014500' })
  const waiting = proof({ rank: 0, start_ns: '1700000000000010200', end_ns: '1700000000000013900', slices: [5] })
  const later = proof({ rank: 0, start_ns: '1700000000000090000', end_ns: '1700000000000091000' })
  const both = finding({ kind: 'slow_rank', proof: [slow, later, waiting] })
  expect(proofLink(slow, both, RUN).params['rank']).toBe('2,0')
  expect(proofLink(slow, finding({ proof: [slow, later] }), RUN).params['rank']).toBe('2')
})

test('a proof is first looked for where the run has something to show', () => {
  const starved = finding({ proof: [proof({ page: 'data' }), proof({ slices: [5] })] })
  expect(firstProofLink(starved, RUN)?.page).toBe('timeline')
  const recorded = { ...RUN, tables: { ...RUN.tables, pipeline_ops: 2 } }
  expect(firstProofLink(starved, recorded)?.page).toBe('data')
})
