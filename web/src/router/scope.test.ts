import { expect, test } from 'vitest'
import fc from 'fast-check'
import cases from './scope.cases.json'
import { formatScope, parseScope, type ScopeContext } from './scope'

/** Eight ranks on two hosts: dp 0..3 over tp 0..1. */
const RANKS: ScopeContext = {
  ranks: cases.hosts.map((host, rank) => ({
    rank,
    host,
    dp: rank >> 1,
    tp: rank & 1,
    pp: null,
    ep: null,
    cp: null,
  })),
}

const meant = (text: string | undefined, context = RANKS): readonly number[] => parseScope(text, context).ranks

test('numbers, ranges, hosts, groups and all of them in one list', () => {
  for (const [text, ranks] of Object.entries(cases.meant)) expect(meant(text), text).toEqual(ranks)
  expect(meant(undefined)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

test('the scope is all, a set, or one rank', () => {
  expect(['', 'all', '0-7', '0-6', '5'].map((text) => parseScope(text, RANKS).kind)).toEqual([
    'all',
    'all',
    'all',
    'set',
    'one',
  ])
})

test('the slowest come worst first, and are awaited until they are known', () => {
  expect(parseScope('slow:2', RANKS)).toMatchObject({ ranks: [], pending: true, unknown: [] })
  expect(meant('slow:2', { ...RANKS, slowest: [5, 2, 7] })).toEqual([5, 2])
})

test('what means no rank of the run is named, and the rest still counts', () => {
  const unknown = [...cases.none, ...cases.unreadable]
  const context = { ...RANKS, slowest: [5, 2, 7] }
  expect(parseScope(['2', ...unknown].join(','), context)).toMatchObject({ ranks: [2], unknown })
})

test('any set of ranks survives the address, written short', () => {
  const known = RANKS.ranks.map((one) => one.rank)
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1 }), (ranks) => {
      expect(meant(formatScope(ranks, known))).toEqual(ranks.toSorted((a, b) => a - b))
    }),
  )
  expect(formatScope([317, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10], [])).toBe('0-7,9,10,317')
  expect(formatScope(known, known)).toBe('all')
})
