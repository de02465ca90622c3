import { beforeEach, expect, test } from 'vitest'
import type { StatsEntry } from '../../api/timeline'
import { language } from '../../i18n/language.svelte'
import { RunModel } from '../../timeline/model'
import { entryKey, entryTitle } from './rangeEntries'

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

test('rows of two ranges are matched by what they are', () => {
  const kinds = ['kernel', 'operator'].map((kind) => entryKey(entry({ kind }), 'kind'))
  expect(new Set(kinds).size).toBe(2)
  const tracks = [entry({ rank: 0, track: 3 }), entry({ rank: 0, track: 4 }), entry({ rank: 1, track: 3 })]
  expect(new Set(tracks.map((one) => entryKey(one, 'track'))).size).toBe(3)
})
