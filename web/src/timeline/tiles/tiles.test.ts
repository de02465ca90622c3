import { afterEach, expect, test, vi } from 'vitest'
import fc from 'fast-check'
import { encodeTiles } from '../../testing/tiles'
import { TileCache } from './cache'
import { decodeCounters, decodeTiles } from './codec'
import { levelFor, overviewLevel, spanOf, tileLength, tileRange, type TileKey } from './key'
import { TileLoader } from './loader'
import { wantedTiles } from './plan'

afterEach(() => vi.useRealTimers())

test('bins of the chosen level are at most a pixel and more than half a pixel wide', () => {
  fc.assert(
    fc.property(fc.double({ min: 1, max: 1e9, noNaN: true }), (nsPerPixel) => {
      const bin = 2 ** levelFor(nsPerPixel)
      expect(bin).toBeLessThanOrEqual(nsPerPixel)
      expect(bin * 2).toBeGreaterThan(nsPerPixel)
    }),
  )
})

test('the overview is the finest level whose first tile covers the whole run', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 50 }), (length) => {
      const level = overviewLevel(length)
      expect(tileLength(level)).toBeGreaterThan(length)
      if (level > 0) expect(tileLength(level - 1)).toBeLessThanOrEqual(length)
    }),
  )
})

test('a range of tiles covers its stretch and no tile of it is beside the stretch', () => {
  const stretch = fc.tuple(
    fc.integer({ min: -1e9, max: 1e12 }),
    fc.integer({ min: 1, max: 1e6 }),
    fc.integer({ min: 3, max: 20 }),
  )
  fc.assert(
    fc.property(stretch, ([start, length, level]) => {
      const [first, last] = tileRange({ start, end: start + length }, level)
      expect(spanOf(level, first).start).toBeLessThanOrEqual(start)
      expect(spanOf(level, first).end).toBeGreaterThan(start)
      expect(spanOf(level, last).end).toBeGreaterThanOrEqual(start + length)
      expect(spanOf(level, last).start).toBeLessThan(start + length)
    }),
  )
})

test('tiles are decoded column by column, with the rows found', () => {
  const items = [
    { row: 0, x0: 1.5, x1: 3, id: 70, name: 4, count: 2, fill: 128, kind: 1 },
    { row: 2, x0: 0, x1: 1024, id: 71, name: 5, count: 0 },
    { row: 2, x0: 1024, x1: 1024, id: 72 },
  ]
  const tiles = decodeTiles(
    encodeTiles([
      { key: 3, items: [] },
      { key: 1, items },
    ]),
  )
  expect([...tiles.keys()]).toEqual([3, 1])
  expect(tiles.get(3)?.items).toBe(0)
  const tile = tiles.get(1)
  expect([...(tile?.x0 ?? [])]).toEqual([1.5, 0, 1024])
  expect([...(tile?.id ?? [])]).toEqual([70, 71, 72])
  expect([...(tile?.name ?? [])]).toEqual([4, 5, 0])
  expect([...(tile?.count ?? [])]).toEqual([2, 0, 1])
  expect([...(tile?.fill ?? [])]).toEqual([128, 255, 255])
  expect([...(tile?.kind ?? [])]).toEqual([1, 0, 0])
  expect([...(tile?.rowStart ?? [])].slice(0, 5)).toEqual([0, 1, 1, 3, 3])
})

test('counter tiles carry the value before them', () => {
  const buffer = new ArrayBuffer(32 + 2 * 26 + 4)
  const view = new DataView(buffer)
  ;[0x31435353, 1, 0, 2, 32, 0].forEach((value, i) => view.setUint32(4 * i, value, true))
  view.setFloat64(24, 7.5, true)
  ;[1, 2, 3, 4, 2, 3].forEach((value, i) => view.setFloat64(32 + 8 * i, value, true))
  view.setUint16(80, 5, true)
  view.setUint16(82, 900, true)
  const tile = decodeCounters(buffer).get(0)
  expect(tile?.before).toBe(7.5)
  expect([...(tile?.min ?? [])]).toEqual([1, 2])
  expect([...(tile?.max ?? [])]).toEqual([3, 4])
  expect([...(tile?.last ?? [])]).toEqual([2, 3])
  expect([...(tile?.bin ?? [])]).toEqual([5, 900])
})

test('what is no tile is refused', () => {
  expect(() => decodeTiles(new ArrayBuffer(4))).toThrow()
  expect(() => decodeTiles(new ArrayBuffer(64))).toThrow()
})

const tile = (bytes = 10) => ({ bytes })

test('the cache drops what was used longest ago, never the overview', () => {
  const cache = new TileCache<{ bytes: number }>(35)
  cache.put({ rank: 0, block: 0, level: 9, index: 0 }, tile(), true)
  cache.put({ rank: 0, block: 0, level: 1, index: 1 }, tile())
  cache.put({ rank: 0, block: 0, level: 1, index: 2 }, tile())
  expect(cache.get(0, 0, 1, 1)).toBeDefined()
  cache.put({ rank: 0, block: 0, level: 1, index: 3 }, tile())
  expect(cache.get(0, 0, 1, 2)).toBeUndefined()
  expect(cache.get(0, 0, 1, 1)).toBeDefined()
  expect(cache.get(0, 0, 9, 0)).toBeDefined()
  expect(cache.bytes).toBe(30)
})

test('the nearest coarser tile stands in, also for negative numbers; finer ones only without a coarser', () => {
  const cache = new TileCache<{ bytes: number }>(1e6)
  cache.put({ rank: 0, block: 0, level: 8, index: -1 }, tile())
  cache.put({ rank: 0, block: 0, level: 6, index: -2 }, tile())
  expect(cache.standIns(0, 0, 5, -3)).toMatchObject([{ level: 6, index: -2 }])
  expect(cache.standIns(0, 0, 5, -1)).toMatchObject([{ level: 8, index: -1 }])
  cache.put({ rank: 0, block: 0, level: 4, index: 20 }, tile())
  expect(cache.standIns(0, 0, 5, 10)).toMatchObject([{ level: 4, index: 20 }])
  expect(cache.standIns(0, 1, 5, 10)).toEqual([])
})

test('a frame wants the overview, then what is visible, then what comes next', () => {
  const need = { rank: 0, block: 2, span: { start: 10_000, end: 14_000 }, nearby: false }
  const keys = wantedTiles([need], 4, 1e9)
  expect(keys[0]).toMatchObject({ level: overviewLevel(1e9), index: 0, pinned: true })
  const visible = keys.slice(1).filter((key) => key.level === 2)
  expect(visible.slice(0, 2).map((key) => key.index)).toEqual([2, 3])
  expect(keys.length).toBeGreaterThan(3)
  // Zoomed out to the whole run, the overview is all there is.
  expect(wantedTiles([need], 2 ** overviewLevel(1e9), 1e9)).toHaveLength(1)
})

function loaderWith(answer: (keys: readonly TileKey[]) => Promise<Map<number, { bytes: number }>>) {
  const cache = new TileCache<{ bytes: number }>(1e6)
  const asked: number[][] = []
  const errors: unknown[] = []
  const loader = new TileLoader({
    cache,
    fetch: (keys) => {
      asked.push(keys.map((key) => key.index))
      return answer(keys)
    },
    onarrival: () => {},
    onerror: (error) => errors.push(error),
  })
  return { cache, asked, errors, loader }
}

const keys = (from: number, to: number): TileKey[] =>
  Array.from({ length: to - from }, (_, i) => ({ rank: 0, block: 0, level: 3, index: from + i }))

test('two batches fly at once, the rest waits, and a new wish replaces what waits', async () => {
  const open: (() => void)[] = []
  const { asked, loader, cache } = loaderWith(
    (wanted) => new Promise((done) => open.push(() => done(new Map(wanted.map((_, i) => [i, tile()]))))),
  )
  loader.want(keys(0, 300))
  expect(asked.map((batch) => batch.length)).toEqual([96, 96])
  loader.want(keys(1000, 1010))
  expect(asked).toHaveLength(2)
  open[0]?.()
  await vi.waitFor(() => expect(asked).toHaveLength(3))
  expect(asked[2]).toEqual(keys(1000, 1010).map((key) => key.index))
  expect(cache.size).toBe(96)
})

test('tiles that did not fit into an answer are asked for again by the next frame', async () => {
  const { asked, loader, cache } = loaderWith((wanted) =>
    Promise.resolve(new Map([[0, tile()]].slice(0, wanted.length) as [number, { bytes: number }][])),
  )
  loader.want(keys(0, 3))
  await vi.waitFor(() => expect(cache.size).toBe(1))
  loader.want(keys(0, 3))
  expect(asked.at(-1)).toEqual([1, 2])
})

test('after a failure the loader pauses before it asks again', async () => {
  vi.useFakeTimers()
  const { asked, errors, loader } = loaderWith(() => Promise.reject(new Error('no')))
  loader.want(keys(0, 2))
  await vi.advanceTimersByTimeAsync(1)
  expect(errors).toHaveLength(1)
  loader.want(keys(0, 2))
  expect(asked).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(2000)
  loader.want(keys(0, 2))
  expect(asked).toHaveLength(2)
})
