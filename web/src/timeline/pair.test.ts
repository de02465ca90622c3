import { expect, test } from 'vitest'
import type { RankTracks, Track } from '../api/timeline'
import { makeRank, makeTrack } from '../testing/tracks'
import { layOut, type ShownRank } from './layout'
import { twinTracks } from './pair'
import { hide, toggleFold, UNTOUCHED } from './trackState'

const stream = (track: number, name: string, more: Partial<Track> = {}): Track =>
  makeTrack(track, track, 1, { kind: 'stream', name, kinds: [1], ...more })
const device = (rank: number, tracks: readonly Track[]): RankTracks =>
  makeRank(rank, { groups: [{ name: 'GPU', kind: 'device', tracks }] })
const shown = (info: RankTracks, twin = false): ShownRank => ({ rank: info.rank, title: '', open: 2, info, twin })
const names = (same: ReadonlyMap<Track, Track>): string[] =>
  [...same].map(([one, other]) => `${one.name} = ${other.name}`).toSorted()

test('a track is the same as one of its name, whatever stands before it', () => {
  const lead = device(0, [stream(1, 'stream 7'), stream(2, 'stream 20')])
  const twin = device(1, [stream(1, 'stream 3'), stream(2, 'stream 20'), stream(3, 'stream 7')])
  expect(names(twinTracks(lead, twin))).toEqual(['stream 20 = stream 20', 'stream 7 = stream 7'])
})

test('numbers differ from process to process; what a track is for does not', () => {
  const lead = device(0, [stream(1, 'thread 400 (python)'), stream(2, 'stream 31 (send)')])
  const twin = device(1, [stream(1, 'stream 35 (receive)'), stream(2, 'thread 512 (python)')])
  expect(names(twinTracks(lead, twin))).toEqual(['thread 400 (python) = thread 512 (python)'])
})

test('a stream with work is not the same as a quiet one', () => {
  const lead = device(0, [stream(1, 'stream 7')])
  const twin = device(1, [stream(1, 'stream 20', { quiet: true }), stream(2, 'stream 24')])
  expect(names(twinTracks(lead, twin))).toEqual(['stream 7 = stream 24'])
})

test('tracks of two ranks take turns, and what only one of them has comes behind', () => {
  const lead = device(0, [stream(1, 'stream 7'), stream(2, 'stream 9 (dp)')])
  const twin = device(1, [stream(1, 'stream 7'), stream(2, 'stream 9 (tp)')])
  const layout = layOut([shown(lead), shown(twin, true)], UNTOUCHED)
  expect(layout.pinned.map((box) => [box.kind, box.rank])).toEqual([
    ['steps', 0],
    ['steps', 1],
  ])
  const keys = layout.scrolled.map((box) => box.key)
  expect(keys).toEqual(['0.r', '0.L', '1.r', '1.L', '0.g0', '0.1', '1.1', '0.2', '1.g0', '1.2'])
  // Both strips with their lanes stay in sight while the tracks scroll by.
  expect(layout.sections).toHaveLength(1)
  expect(layout.sections[0]).toMatchObject({ rank: 0, headBoxes: 4, headHeight: 2 * (18 + 77) })
  // Shutting the heading shuts both ranks' tracks; a link to a slice of either opens it again.
  const shut = layOut([shown(lead), shown(twin, true)], toggleFold(UNTOUCHED, '0.g0'))
  expect(shut.scrolled.map((box) => box.key)).toEqual(['0.r', '0.L', '1.r', '1.L', '0.g0', '1.g0', '1.2'])
  expect(shut.headings.get('1.1')).toEqual(['0.g0'])
  expect(layOut([shown(lead), shown(twin, true)], hide(UNTOUCHED, '0.1')).scrolled.map((box) => box.key)).toContain(
    '1.1',
  )
})

test('a track is gathered with the quiet ones only where it is quiet or idle on both ranks', () => {
  const both = (rank: number): RankTracks =>
    device(rank, [stream(1, 'stream 7'), stream(2, 'stream 8'), stream(3, 'stream 9'), stream(4, 'stream 10')])
  const idle = new Set(['0.2', '0.3', '0.4', '1.3', '1.4'])
  const layout = layOut([shown(both(0)), shown(both(1), true)], UNTOUCHED, { idle })
  expect(layout.scrolled.map((box) => box.key).slice(5)).toEqual(['0.1', '1.1', '0.2', '1.2', '0.g0q'])
  expect(layout.scrolled.at(-1)).toMatchObject({ kind: 'quiet', rows: 2, folded: true })
  expect(layout.headings.get('1.4')).toEqual(['0.g0', '0.g0q'])
})
