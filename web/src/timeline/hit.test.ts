import { expect, test } from 'vitest'
import { encodeTiles, type Item } from '../testing/tiles'
import { hitTest } from './hit'
import { TileCache } from './tiles/cache'
import { decodeTiles, type Tile } from './tiles/codec'

/** Level 4: a bin is 16 ns, a tile 16,384 ns. */
const LEVEL = 4

function cacheWith(...tiles: { level?: number; index: number; items: Item[] }[]): TileCache<Tile> {
  const cache = new TileCache<Tile>(1e6)
  for (const { level = LEVEL, index, items } of tiles) {
    cache.put({ rank: 2, block: 1, level, index }, decodeTiles(encodeTiles([{ key: 0, items }])).get(0) as Tile)
  }
  return cache
}

const hit = (cache: TileCache<Tile>, row: number, ns: number, tolerance = 0) =>
  hitTest(cache, 2, 1, row, LEVEL, ns, tolerance)

test('the slice that contains the moment is hit, on its own row only', () => {
  const cache = cacheWith({
    index: 0,
    items: [
      { row: 3, x0: 10, x1: 20, id: 5, name: 8, kind: 1 },
      { row: 4, x0: 0, x1: 1024, id: 6 },
    ],
  })
  expect(hit(cache, 19, 16 * 15)).toMatchObject({ id: 5, name: 8, kind: 1, start: 160, end: 320, count: 1, rank: 2 })
  expect(hit(cache, 20, 16 * 15)).toMatchObject({ id: 6 })
  expect(hit(cache, 19, 16 * 25)).toBeNull()
})

test('a near miss hits the nearest slice within the tolerance', () => {
  const cache = cacheWith({
    index: 0,
    items: [
      { row: 0, x0: 10, x1: 12, id: 1 },
      { row: 0, x0: 20, x1: 22, id: 2 },
    ],
  })
  expect(hit(cache, 16, 16 * 14, 40)?.id).toBe(1)
  expect(hit(cache, 16, 16 * 18, 40)?.id).toBe(2)
  expect(hit(cache, 16, 16 * 16, 40)).toBeNull()
})

test('in a shared bin the number of slices and how busy it is are told', () => {
  const cache = cacheWith({ index: 0, items: [{ row: 0, x0: 5.9, x1: 5.95, id: 9, count: 37, fill: 209 }] })
  const found = hit(cache, 16, 16 * 5.3)
  expect(found?.count).toBe(37)
  expect(found?.fill).toBeCloseTo(0.82, 2)
})

test('the tolerance reaches over the edge of a tile', () => {
  const cache = cacheWith({ index: 0, items: [] }, { index: 1, items: [{ row: 0, x0: 0, x1: 4, id: 3 }] })
  expect(hit(cache, 16, 16_384 - 5, 10)?.id).toBe(3)
})

test('a coarser tile answers while the fine one is not there', () => {
  const cache = cacheWith({ level: LEVEL + 2, index: 0, items: [{ row: 0, x0: 100, x1: 200, id: 4 }] })
  expect(hit(cache, 16, 64 * 150)).toMatchObject({ id: 4, start: 6400, end: 12_800 })
})

test('a slice over several tiles is one slice, wherever it is hit', () => {
  const cache = cacheWith(
    { index: 0, items: [{ row: 0, x0: 1000, x1: 1024, id: 8 }] },
    { index: 1, items: [{ row: 0, x0: 0, x1: 1024, id: 8, count: 0 }] },
    {
      index: 2,
      items: [
        { row: 0, x0: 0, x1: 10, id: 8, count: 0 },
        { row: 0, x0: 12, x1: 20, id: 9 },
      ],
    },
  )
  for (const ns of [16 * 1010, 16 * 1500, 16 * 2050]) {
    expect(hit(cache, 16, ns)).toMatchObject({ id: 8, start: 16_000, end: 16 * (2048 + 10) })
  }
})

test('where neighbours are missing, a coarser tile tells the rest of a slice', () => {
  const cache = cacheWith(
    { index: 5, items: [{ row: 0, x0: 0, x1: 1024, id: 8, count: 0 }] },
    { level: LEVEL + 6, index: 0, items: [{ row: 0, x0: 50, x1: 400, id: 8 }] },
  )
  expect(hit(cache, 16, 16_384 * 5.5)).toMatchObject({ start: 50 * 1024, end: 400 * 1024 })
})
