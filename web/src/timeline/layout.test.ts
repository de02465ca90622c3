import { expect, test } from 'vitest'
import type { RankTracks } from '../api/timeline'
import { makeRank, makeTrack } from '../testing/tracks'
import { boxUnder, placeOfRow, regionsOf, visibleBoxes } from './draw/frame'
import {
  blockOf,
  boxesBetween,
  layOut,
  rowAt,
  rowMiddle,
  STATE_ROW,
  type Box,
  type Openness,
  type ShownRank,
} from './layout'
import { fromParams, hide, move, pinAll, showAll, toggleFold, togglePin, toParams, UNTOUCHED } from './trackState'

const keysOf = (boxes: readonly Box[]): string[] => boxes.map((box) => box.key)
const shown = (info: RankTracks, open: Openness = 2): ShownRank => ({ rank: info.rank, title: '', open, info })
const KINDS = ['operator', 'kernel', 'annotation', 'runtime']

test('steps and lanes stay on top; device work above the host, counters folded away', () => {
  const layout = layOut([shown(makeRank(0))], UNTOUCHED, { kinds: KINDS })
  expect(keysOf(layout.pinned)).toEqual(['steps', '0.L'])
  expect(keysOf(layout.scrolled)).toEqual(['0.g0', '0.7', '0.g1', '0.0', '0.1', '0.g2'])
})

test('who launches work comes before the rest; Python frames and the profiler’s notes are folded', () => {
  const rank = makeRank(0, {
    groups: [
      { name: '', kind: 'marks', tracks: [makeTrack(5, 0, 1, { kinds: [2] })] },
      { name: '', kind: 'python', tracks: [makeTrack(6, 1, 9, { kinds: [4] })] },
      { name: 'idle threads', kind: 'host', tracks: [makeTrack(2, 2, 1, { kinds: [2] })] },
      { name: 'CPU', kind: 'host', tracks: [makeTrack(0, 3, 1, { kinds: [2] }), makeTrack(1, 4, 1, { kinds: [3] })] },
      { name: 'cuda:0', kind: 'memory', tracks: [makeTrack(8, 0, 0, { counter: { points: 2, min: 0, max: 9 } })] },
      { name: 'GPU', kind: 'device', tracks: [makeTrack(7, 5, 1, { kinds: [1] })] },
    ],
  })
  const layout = layOut([shown(rank)], UNTOUCHED, { kinds: KINDS })
  expect(keysOf(layout.scrolled)).toEqual([
    '0.g5',
    '0.7',
    '0.g3',
    '0.1',
    '0.0',
    '0.g4',
    '0.8',
    '0.g2',
    '0.2',
    '0.g1',
    '0.g0',
  ])
  // A link from the Memory page puts memory first.
  expect(keysOf(layOut([shown(rank)], UNTOUCHED, { kinds: KINDS, first: 'memory' }).scrolled).slice(0, 2)).toEqual([
    '0.g4',
    '0.8',
  ])
})

test('quiet tracks are one line until asked for; a single one is no crowd', () => {
  const streams = (quiet: readonly number[]): RankTracks =>
    makeRank(0, {
      groups: [
        {
          name: 'GPU',
          kind: 'device',
          tracks: [7, 8, 9].map((track) => makeTrack(track, track - 7, 1, { quiet: quiet.includes(track) })),
        },
      ],
    })
  expect(keysOf(layOut([shown(streams([8, 9]))], UNTOUCHED).scrolled)).toEqual(['0.g0', '0.7', '0.g0q'])
  expect(layOut([shown(streams([8, 9]))], UNTOUCHED).scrolled.at(-1)).toMatchObject({ kind: 'quiet', rows: 2 })
  const open = toggleFold(UNTOUCHED, '0.g0q')
  expect(keysOf(layOut([shown(streams([8, 9]))], open).scrolled)).toEqual(['0.g0', '0.7', '0.g0q', '0.8', '0.9'])
  expect(keysOf(layOut([shown(streams([9]))], UNTOUCHED).scrolled)).toEqual(['0.g0', '0.7', '0.8', '0.9'])
  expect(keysOf(layOut([shown(streams([8, 9]))], togglePin(UNTOUCHED, '0.9')).pinned)).toEqual(['steps', '0.L', '0.9'])
})

test('several ranks are strips of 18 pixels; a click opens lanes, then tracks', () => {
  const closed = layOut([shown(makeRank(0), 0), shown(makeRank(1), 0)], UNTOUCHED)
  expect(closed.scrolled.map((box) => [box.key, box.height, box.firstRow])).toEqual([
    ['0.r', 18, STATE_ROW],
    ['1.r', 18, STATE_ROW],
  ])
  expect(keysOf(layOut([shown(makeRank(0), 1), shown(makeRank(1), 0)], UNTOUCHED).scrolled)).toEqual([
    '0.r',
    '0.L',
    '1.r',
  ])
  // The tracks of the host are folded, so that other ranks stay in sight.
  const open = layOut([shown(makeRank(0), 2), shown(makeRank(1), 0)], UNTOUCHED)
  expect(keysOf(open.scrolled)).toEqual(['0.r', '0.L', '0.g0', '0.7', '0.g1', '0.g2', '1.r'])
})

test('of a thousand ranks only those in sight are drawn', () => {
  const ranks = Array.from({ length: 1000 }, (_, rank): ShownRank => ({ rank, title: '', open: 0, info: null }))
  const layout = layOut(ranks, UNTOUCHED)
  expect(layout.scrolledHeight).toBe(18_000)
  const visible = visibleBoxes({ layout, scrollTop: 9000, height: 400 }).filter(({ box }) => box.kind === 'strip')
  expect(visible.length).toBeLessThanOrEqual(22)
  expect(visible[0]?.box.rank).toBe(500)
})

test('strip and lanes stay in sight while the tracks of their rank scroll by, until the next rank comes', () => {
  const tall = makeRank(0, { groups: [{ name: 'GPU', kind: 'device', tracks: [makeTrack(7, 0, 60)] }] })
  const layout = layOut([shown(tall), shown(makeRank(1), 0)], UNTOUCHED)
  const at = (scrollTop: number) => regionsOf({ layout, scrollTop, height: 400 })
  const steps = layout.pinnedHeight
  expect(at(0).head.boxes).toEqual([])
  expect(at(300).head).toMatchObject({ top: steps, bottom: steps + 18 + 77 })
  expect(at(300).head.boxes.map(({ box, top }) => [box.key, top])).toEqual([
    ['0.r', steps],
    ['0.L', steps + 18],
  ])
  // The point below the steps belongs to the strip, not to the track that scrolls behind it.
  expect(boxUnder({ layout, scrollTop: 300, height: 400 }, steps + 5)?.box.key).toBe('0.r')
  const end = layout.sections[0]?.end ?? 0
  expect(at(end - 40).head.bottom).toBe(steps + 40)
  // A row behind the head is out of sight.
  const row = Math.floor((300 - (layout.scrolled.find((box) => box.key === '0.7')?.y ?? 0)) / 18)
  expect(placeOfRow({ layout, scrollTop: 300, height: 400 }, 0, row + 1)).toBeNull()
  expect(placeOfRow({ layout, scrollTop: 300, height: 400 }, 0, row + 7)).not.toBeNull()
})

test('boxes follow each other without a hole', () => {
  const { scrolled, scrolledHeight } = layOut([shown(makeRank(0)), shown(makeRank(1))], UNTOUCHED)
  let y = 0
  for (const box of scrolled) {
    expect(box.y).toBe(y)
    y += box.height
  }
  expect(scrolledHeight).toBe(y)
})

test('a pinned track moves to the top, a hidden one leaves a line that says so', () => {
  let state = togglePin(UNTOUCHED, '0.7')
  state = hide(state, '0.1')
  const layout = layOut([shown(makeRank(0))], state)
  expect(keysOf(layout.pinned)).toEqual(['steps', '0.L', '0.7'])
  expect(keysOf(layout.scrolled)).toEqual(['0.g0', '0.g1', '0.0', '0.g2', '0.h'])
  expect(keysOf(layOut([shown(makeRank(0))], showAll(state, 0)).scrolled)).toContain('0.1')
})

test('all tracks of one name are pinned at once, and unpinned at once', () => {
  const both = pinAll(UNTOUCHED, ['0.7', '1.7'])
  expect(both.pinned).toEqual(['0.7', '1.7'])
  expect(pinAll(both, ['0.7', '1.7']).pinned).toEqual([])
})

test('a moved track stands before the one it was put before, or at the end', () => {
  const state = move(UNTOUCHED, '0.1', '0.0')
  expect(keysOf(layOut([shown(makeRank(0))], state).scrolled).slice(3, 5)).toEqual(['0.1', '0.0'])
  const back = move(state, '0.1', '')
  expect(keysOf(layOut([shown(makeRank(0))], back).scrolled).slice(3, 5)).toEqual(['0.0', '0.1'])
})

test('folding a track makes its rows thin; unfolding the counters shows them', () => {
  const open = layOut([shown(makeRank(0))], UNTOUCHED).scrolled.find((box) => box.key === '0.0')
  const state = toggleFold(toggleFold(UNTOUCHED, '0.0'), '0.g2')
  const layout = layOut([shown(makeRank(0))], state)
  const folded = layout.scrolled.find((box) => box.key === '0.0')
  expect(folded?.height).toBeLessThan(open?.height ?? 0)
  expect(layout.scrolled.find((box) => box.key === '0.9')?.kind).toBe('counter')
})

test('a filter shows what it finds, also inside folded groups', () => {
  const titles = layOut([shown(makeRank(0))], UNTOUCHED, { filter: 'hbm' }).scrolled.filter((box) => box.track)
  expect(titles.map((box) => box.title)).toEqual(['HBM'])
})

test('heights and rows are found again', () => {
  const { scrolled } = layOut([shown(makeRank(0))], UNTOUCHED)
  const box = scrolled.find((one) => one.key === '0.7') as Box
  expect(rowAt(box, 1)).toBe(3)
  expect(rowAt(box, 20)).toBe(4)
  expect(rowMiddle(scrolled, 0, 4)).toBe(box.y + 27)
  expect(rowMiddle(scrolled, 0, 99)).toBeNull()
  expect(keysOf(boxesBetween(scrolled, box.y, box.y + 1))).toEqual(['0.7'])
  expect(blockOf(box, 17)).toBe(1)
})

test('what was done to the tracks survives the address; foreign text does not', () => {
  const state = move(toggleFold(hide(togglePin(UNTOUCHED, '0.L'), '1.3'), '0.g1'), '0.1', '')
  const params = Object.fromEntries(Object.entries(toParams(state)).filter(([, value]) => value !== null)) as Record<
    string,
    string
  >
  expect(fromParams(params)).toEqual(state)
  expect(fromParams({ pin: '<script>,0.1,x', order: 'a:b,0.1:0.2' })).toEqual({
    ...UNTOUCHED,
    pinned: ['0.1'],
    moved: [['0.1', '0.2']],
  })
})
