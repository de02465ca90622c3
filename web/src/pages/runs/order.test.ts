import { expect, test } from 'vitest'
import type { RunSummary } from '../../api/runs'
import { inOrder, type RunOrder } from './order'

const run = (id: string, more: Partial<RunSummary>): RunSummary => ({ id, verdict: null, ...more }) as RunSummary
const verdict = (severity: string, period_us: number): RunSummary['verdict'] => ({
  severity,
  sentence: '',
  findings: 0,
  period_us,
})
const RUNS = [
  run('a', { verdict: verdict('healthy', 30), source_bytes: 10, recorded_ns: '1700000000000000001' }),
  run('b', { verdict: null, source_bytes: null, recorded_ns: null }),
  run('c', { verdict: verdict('critical', 20), source_bytes: 30, recorded_ns: '1700000000000000002' }),
]
const ids = (by: RunOrder['by'], descending: boolean): string =>
  inOrder(RUNS, { by, descending }, (one) => one.id)
    .map((one) => one.id)
    .join('')

test('the worst first, and runs of which nothing is known last in either direction', () => {
  expect(ids('verdict', true)).toBe('cab')
  expect(ids('period', false)).toBe('cab')
  expect(ids('period', true)).toBe('acb')
  expect(ids('recorded', true)).toBe('cab')
  expect(ids('size', true)).toBe('cab')
  expect(ids('name', true)).toBe('cba')
  expect(ids('list', true)).toBe('abc')
})
