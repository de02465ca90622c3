import { expect, test } from 'vitest'
import { makeRank, makeTrack, makeTracks } from '../testing/tracks'
import { areaQuery } from './areaQuery'
import { RunModel } from './model'

const rank = makeRank(0, {
  clock_offset_ns: '100',
  groups: [
    { name: 'cpu', kind: 'host', tracks: [makeTrack(3, 0, 2)] },
    { name: '', kind: 'python', tracks: [makeTrack(9, 2, 4, { stored_track: 3 })] },
    { name: 'gpu', kind: 'device', tracks: [makeTrack(7, 6, 1)] },
  ],
})
const model = new RunModel(makeTracks([rank, makeRank(1)]))

test('whole tracks are asked for by their stored numbers, on the rank’s own clock', () => {
  const rows = [
    { rank: 0, first_row: 2, last_row: 5 },
    { rank: 0, first_row: 6, last_row: 6 },
  ]
  const query = areaQuery(model, { start: 10, end: 20, rows }, [0, 1])
  expect(query).toContain('rank = 0 AND start_ns < 1699999999999999920 AND start_ns + dur_ns > 1699999999999999910')
  expect(query).toContain("((track IN (7) AND kind <> 'python') OR (track IN (3) AND kind = 'python'))")
  expect(query).not.toContain('rank = 1')
})

test('a range without rows is of every rank that is shown', () => {
  const query = areaQuery(model, { start: 0, end: 5, rows: [] }, [0, 1])
  expect(query).toContain('(rank = 0 AND')
  expect(query).toContain('(rank = 1 AND')
})

test('a rank that was moved is asked about on its own clock', () => {
  const query = areaQuery(model, { start: 10, end: 20, rows: [] }, [1], new Map([[1, 4]]))
  expect(query).toContain('rank = 1 AND start_ns < 1700000000000000016 AND start_ns + dur_ns > 1700000000000000006')
})
