import { expect, test } from 'vitest'
import { makeRank, makeTrack } from '../testing/tracks'
import { blockOf, boxAt, boxesBetween, layOut, rowAt, rowMiddle, type Box } from './layout'
import { fromParams, hide, move, pinAll, showAll, toggleFold, togglePin, toParams, UNTOUCHED } from './trackState'

const keysOf = (boxes: readonly Box[]): string[] => boxes.map((box) => box.key)

test('lanes on top, host above device, counters folded away', () => {
  const layout = layOut([makeRank(0)], UNTOUCHED)
  expect(keysOf(layout.scrolled)).toEqual(['0.r', '0.L', '0.g1', '0.0', '0.1', '0.g0', '0.7', '0.g2'])
  expect(layout.pinned).toEqual([])
})

test('host lanes that hold only marks come below the device', () => {
  const rank = makeRank(0, {
    groups: [
      { name: 'Spans', kind: 'host', tracks: [makeTrack(5, 0, 1, { kinds: [2] })] },
      { name: 'GPU', kind: 'device', tracks: [makeTrack(7, 1, 1, { kinds: [1] })] },
      { name: 'CPU', kind: 'host', tracks: [makeTrack(0, 2, 1, { kinds: [0] })] },
    ],
  })
  const titles = layOut([rank], UNTOUCHED, '', ['operator', 'kernel', 'annotation']).scrolled.filter(
    (box) => box.kind === 'group',
  )
  expect(titles.map((box) => box.title)).toEqual(['CPU', 'GPU', 'Spans'])
})

test('boxes follow each other without a hole', () => {
  const { scrolled, scrolledHeight } = layOut([makeRank(0), makeRank(1)], UNTOUCHED)
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
  const layout = layOut([makeRank(0)], state)
  expect(keysOf(layout.pinned)).toEqual(['0.7'])
  expect(keysOf(layout.scrolled)).toEqual(['0.r', '0.L', '0.g1', '0.0', '0.g0', '0.g2', '0.h'])
  expect(keysOf(layOut([makeRank(0)], showAll(state, 0)).scrolled)).toContain('0.1')
})

test('all tracks of one name are pinned at once, and unpinned at once', () => {
  const both = pinAll(UNTOUCHED, ['0.7', '1.7'])
  expect(both.pinned).toEqual(['0.7', '1.7'])
  expect(pinAll(both, ['0.7', '1.7']).pinned).toEqual([])
})

test('a moved track stands before the one it was put before, or at the end', () => {
  const state = move(UNTOUCHED, '0.1', '0.0')
  expect(keysOf(layOut([makeRank(0)], state).scrolled).slice(3, 5)).toEqual(['0.1', '0.0'])
  const back = move(state, '0.1', '')
  expect(keysOf(layOut([makeRank(0)], back).scrolled).slice(3, 5)).toEqual(['0.0', '0.1'])
})

test('folding a track makes its rows thin; unfolding the counters shows them', () => {
  const open = layOut([makeRank(0)], UNTOUCHED).scrolled.find((box) => box.key === '0.0')
  const state = toggleFold(toggleFold(UNTOUCHED, '0.0'), '0.g2')
  const layout = layOut([makeRank(0)], state)
  const folded = layout.scrolled.find((box) => box.key === '0.0')
  expect(folded?.height).toBeLessThan(open?.height ?? 0)
  expect(layout.scrolled.find((box) => box.key === '0.9')?.kind).toBe('counter')
})

test('a filter shows what it finds, also inside folded groups', () => {
  const titles = layOut([makeRank(0)], UNTOUCHED, 'hbm').scrolled.filter((box) => box.track)
  expect(titles.map((box) => box.title)).toEqual(['HBM'])
})

test('heights and rows are found again', () => {
  const { scrolled } = layOut([makeRank(0)], UNTOUCHED)
  const box = scrolled.find((one) => one.key === '0.7') as Box
  expect(boxAt(scrolled, box.y + 1)?.key).toBe('0.7')
  expect(rowAt(box, box.y + 1)).toBe(3)
  expect(rowAt(box, box.y + 20)).toBe(4)
  expect(rowMiddle(scrolled, 0, 4)).toBe(box.y + 27)
  expect(rowMiddle(scrolled, 0, 99)).toBeNull()
  expect(boxAt(scrolled, 1e6)).toBeNull()
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
