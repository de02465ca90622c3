import { expect, test } from 'vitest'
import type { RangeStats, StatsRequest } from '../../api/schema'
import { makeRank, makeTrack } from '../../testing/tracks'
import { idleTracks } from './idleTracks'

test('tracks with slices, none of them in the stretch, are idle; curves are not asked about', async () => {
  const rank = makeRank(3, {
    groups: [
      {
        name: 'GPU',
        kind: 'device',
        tracks: [makeTrack(1, 0, 1), makeTrack(2, 1, 1), makeTrack(3, 2, 1, { slices: 0 })],
      },
    ],
  })
  const asked: StatsRequest[] = []
  const api = {
    stats: (request: StatsRequest) => {
      asked.push(request)
      return Promise.resolve({ entries: [{ track: 2 }] } as unknown as RangeStats)
    },
  }
  const { signal } = new AbortController()
  expect([...(await idleTracks(api, rank, { start: 10.5, end: 20.2 }, -4.6, signal))]).toEqual(['3.1'])
  expect(asked).toMatchObject([{ from_ns: 10, to_ns: 21, rows: [{ rank: 3, shift_ns: -5 }], by: 'track' }])
})
