import { expect, test } from 'vitest'
import { makeRank, makeTrack } from '../testing/tracks'
import { layOut, type ShownRank } from './layout'
import { stackedTrack, stackFromText, trackOfRank } from './stack'
import { UNTOUCHED } from './trackState'

const OTHER = makeRank(1, {
  groups: [
    { name: 'python 4711', kind: 'host', tracks: [makeTrack(3, 0, 2, { name: 'thread 4711' })] },
    { name: 'GPU 1', kind: 'device', tracks: [makeTrack(20, 4, 1), makeTrack(21, 5, 3, { name: 'stream 7' })] },
  ],
})

test('a track is known on another rank by its name, else by its place among those of its kind', () => {
  const first = makeRank(0)
  const stream = stackedTrack(first, 7)
  const thread = stackedTrack(first, 0)
  if (!stream || !thread) throw new Error('The rank has both tracks.')
  expect(trackOfRank(OTHER, stream)?.track).toBe(21)
  expect(trackOfRank(OTHER, thread)?.track).toBe(3)
  expect(stackedTrack(first, 99)).toBeNull()
  expect(trackOfRank(makeRank(2, { groups: [] }), stream)).toBeNull()
})

test('a stack shows this track of every rank and nothing else; a rank that is not loaded shows its state', () => {
  const info = makeRank(0)
  const ranks: ShownRank[] = [
    { rank: 0, title: '', open: 0, info },
    { rank: 1, title: '', open: 0, info: OTHER },
    { rank: 2, title: '', open: 0, info: null },
    { rank: 3, title: '', open: 0, info: makeRank(3, { groups: [] }) },
  ]
  const { scrolled, pinned } = layOut(ranks, UNTOUCHED, { stack: stackedTrack(info, 7) })
  expect(pinned.map((box) => box.key)).toEqual(['steps'])
  expect(scrolled.map((box) => [box.rank, box.kind, box.firstRow, box.rows])).toEqual([
    [0, 'track', 3, 2],
    [1, 'track', 5, 3],
    [2, 'strip', 5, 1],
  ])
})

test('the address names the track that is stacked', () => {
  expect(stackFromText('3.7')).toEqual({ rank: 3, track: 7 })
  expect(stackFromText('3.L')).toBeNull()
  expect(stackFromText(undefined)).toBeNull()
})
