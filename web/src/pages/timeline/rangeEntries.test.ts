import { beforeEach, expect, test } from 'vitest'
import type { StatsEntry } from '../../api/timeline'
import { language } from '../../i18n/language.svelte'
import { RunModel } from '../../timeline/model'
import { SIDE_B } from '../../timeline/sides'
import { ambiguousNames, entryKey, entryTitle } from './rangeEntries'

beforeEach(() => language.set('en'))

const entry = (more: Partial<StatsEntry>): StatsEntry =>
  ({ name: null, kind: null, rank: null, track: null, ...more }) as StatsEntry
const rank = (number: number): object => ({
  rank: number,
  names: [],
  steps: [],
  groups: [
    { name: 'python', tracks: [{ track: 3, name: 'thread 17' }] },
    { name: 'GPU 0', tracks: [{ track: 4, name: 'stream 7' }] },
  ],
})
const model = (ranks: readonly number[]): RunModel =>
  new RunModel({ end_at_ns: 10, kinds: [], lanes: [], ranks: ranks.map(rank) } as never)

test('rows by kind and by track are called by what they are, not by a name they lack', () => {
  expect(entryTitle(entry({ kind: 'gc' }), 'kind', null)).toBe('garbage collection')
  expect(entryTitle(entry({ kind: 'strange' }), 'kind', null)).toBe('strange')
  expect(entryTitle(entry({ rank: 0, track: 4 }), 'track', model([0]))).toBe('GPU 0 · stream 7')
  expect(entryTitle(entry({ rank: 1, track: 3 }), 'track', model([0, 1]))).toBe('rank 1 · python · thread 17')
})

test('a name that stands for several kinds says which', () => {
  const rows = [
    entry({ name: 'all_reduce', kind: 'collective' }),
    entry({ name: 'all_reduce', kind: 'annotation' }),
    entry({ name: 'aten::mm', kind: 'operator' }),
  ]
  const ambiguous = ambiguousNames(rows)
  const titles = rows.map((one) => entryTitle(one, 'name', null, ambiguous))
  expect(new Set(titles).size).toBe(3)
  expect(titles[2]).toBe('aten::mm')
  expect(titles[0]).toMatch(/^all_reduce · /)
  expect(new Set(rows.map((one) => entryKey(one, 'name'))).size).toBe(3)
})

test('a rank of the compared run is called by the number that it has there', () => {
  expect(entryTitle(entry({ rank: SIDE_B + 1, track: 3 }), 'track', model([0, SIDE_B + 1]))).toBe(
    'B · rank 1 · python · thread 17',
  )
})

test('rows of two ranges are matched by what they are', () => {
  const kinds = ['kernel', 'operator'].map((kind) => entryKey(entry({ kind }), 'kind'))
  expect(new Set(kinds).size).toBe(2)
  const tracks = [entry({ rank: 0, track: 3 }), entry({ rank: 0, track: 4 }), entry({ rank: 1, track: 3 })]
  expect(new Set(tracks.map((one) => entryKey(one, 'track'))).size).toBe(3)
})
