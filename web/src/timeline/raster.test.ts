import { expect, test } from 'vitest'
import fc from 'fast-check'
import { encodeTiles, type Item } from '../testing/tiles'
import { SHADES } from './palette'
import { lowerBound, paintRow, type Lines, type RowPaint } from './raster'
import { decodeTiles, type Tile } from './tiles/codec'

const BACKGROUND = 7
const EDGE = 9

function tileOf(items: readonly Item[]): Tile {
  return decodeTiles(encodeTiles([{ key: 0, items }])).get(0) as Tile
}

function linesOf(width: number): Lines {
  return { width, pixels: new Uint32Array(width).fill(BACKGROUND), cover: new Uint8Array(width) }
}

/** Colour c, shade s is 1000 + 100 c + s, so that expectations can be read. */
const table = Uint32Array.from({ length: 4 * SHADES }, (_, i) => 1000 + 100 * Math.floor(i / SHADES) + (i % SHADES))
const full = (colour: number): number => 1000 + 100 * colour + SHADES - 1

function paintOf(more: Partial<RowPaint> = {}): RowPaint {
  return {
    line: 0,
    scale: 1,
    origin: 0,
    clipStart: 0,
    clipEnd: 40,
    colours: Uint8Array.from([0, 1, 2, 3]),
    kindColours: null,
    table,
    dimmed: table.map((value) => value + 5000),
    bright: null,
    edge: EDGE,
    ...more,
  }
}

test('slices fill their pixels; wide ones carry an edge', () => {
  const lines = linesOf(40)
  const tile = tileOf([
    { row: 0, x0: 2, x1: 4, id: 1, name: 1 },
    { row: 0, x0: 10, x1: 20, id: 2, name: 2 },
    { row: 1, x0: 0, x1: 40, id: 3, name: 3 },
  ])
  paintRow(lines, tile, 0, paintOf(), null)
  const expected = Array.from({ length: 40 }, (_, x) =>
    x >= 2 && x < 4 ? full(1) : x >= 10 && x < 20 ? full(2) : BACKGROUND,
  )
  expected[10] = EDGE
  expect([...lines.pixels]).toEqual(expected)
})

test('a slice that came from the tile before has no edge', () => {
  const lines = linesOf(40)
  paintRow(lines, tileOf([{ row: 0, x0: 0, x1: 30, id: 1, name: 1, count: 0 }]), 0, paintOf(), null)
  expect(lines.pixels[0]).toBe(full(1))
})

test('a slice thinner than a pixel still shows, in a pale shade', () => {
  const lines = linesOf(40)
  paintRow(lines, tileOf([{ row: 0, x0: 5.2, x1: 5.3, id: 1, name: 1 }]), 0, paintOf(), null)
  expect(lines.pixels[5]).toBeGreaterThanOrEqual(1100)
  expect(lines.pixels[5]).toBeLessThan(full(1))
  expect(lines.pixels[4]).toBe(BACKGROUND)
  expect(lines.pixels[6]).toBe(BACKGROUND)
})

test('bins shared by many slices are as bright as they are busy', () => {
  const shade = (fill: number): number => {
    const lines = linesOf(40)
    paintRow(lines, tileOf([{ row: 0, x0: 8.9, x1: 8.95, id: 1, name: 0, count: 50, fill }]), 0, paintOf(), null)
    return lines.pixels[8] as number
  }
  expect(shade(255)).toBeGreaterThan(shade(120))
  expect(shade(120)).toBeGreaterThan(shade(70))
})

test('a thin slice does not cover the end of a full one', () => {
  const lines = linesOf(40)
  const tile = tileOf([
    { row: 0, x0: 0, x1: 5.6, id: 1, name: 1 },
    { row: 0, x0: 5.7, x1: 5.8, id: 2, name: 2 },
  ])
  paintRow(lines, tile, 0, paintOf(), null)
  expect(lines.pixels[5]).toBe(full(1))
})

test('nothing is painted outside the clip, and the slice that reaches in is', () => {
  const lines = linesOf(40)
  const tile = tileOf([
    { row: 0, x0: 0, x1: 15, id: 1, name: 1 },
    { row: 0, x0: 15, x1: 40, id: 2, name: 2 },
  ])
  paintRow(lines, tile, 0, paintOf({ clipStart: 10, clipEnd: 20 }), null)
  expect([...lines.pixels].slice(0, 10).every((pixel) => pixel === BACKGROUND)).toBe(true)
  expect(lines.pixels[10]).toBe(full(1))
  expect([...lines.pixels].slice(20).every((pixel) => pixel === BACKGROUND)).toBe(true)
})

test('names that do not match are dimmed, and kinds can give the colour', () => {
  const lines = linesOf(40)
  const tile = tileOf([
    { row: 0, x0: 1, x1: 3, id: 1, name: 1, kind: 3 },
    { row: 0, x0: 4, x1: 6, id: 2, name: 2, kind: 0 },
  ])
  paintRow(
    lines,
    tile,
    0,
    paintOf({ bright: Uint8Array.from([0, 1, 0, 0]), kindColours: Uint8Array.from([2, 0, 0, 1]) }),
    null,
  )
  expect(lines.pixels[1]).toBe(full(1))
  expect(lines.pixels[4]).toBe(full(2) + 5000)
})

test('a picture at any scale shows a slice exactly where a brute-force painter shows it', () => {
  const slices = fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 20 })), {
    minLength: 1,
    maxLength: 20,
  })
  fc.assert(
    fc.property(slices, fc.constantFrom(1, 2, 3), (pairs, scale) => {
      let at = 0
      const items: Item[] = pairs.map(([length, gap], i) => {
        const item = { row: 0, x0: at + gap, x1: at + gap + length, id: i, name: i % 4 }
        at = item.x1
        return item
      })
      const width = 1024
      const lines = linesOf(width)
      paintRow(lines, tileOf(items), 0, paintOf({ scale, clipEnd: width }), null)
      // Edges may replace the first pixel of a slice; everything else must be the slice's colour.
      const wrong = [...lines.pixels].filter((pixel, x) => {
        const owner = items.find((item) => x >= item.x0 * scale && x < item.x1 * scale)
        if (!owner) return pixel !== BACKGROUND
        return pixel !== full(owner.name ?? 0) && !(pixel === EDGE && x === owner.x0 * scale)
      })
      expect(wrong).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('lower bound agrees with a linear search', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 50 })), fc.integer({ min: -1, max: 51 }), (numbers, value) => {
      const sorted = Float32Array.from(numbers).toSorted()
      const linear = sorted.findIndex((one) => one >= value)
      expect(lowerBound(sorted, 0, sorted.length, value)).toBe(linear < 0 ? sorted.length : linear)
    }),
  )
})

test('a sliver of a lane looks like one: its shade is its share', () => {
  const sliver = (leastCover?: number): number => {
    const lines = linesOf(40)
    const items: Item[] = [{ x0: 3.9, x1: 3.94, id: 1, name: 0, count: 20, row: 0, fill: 4, kind: 0 }]
    paintRow(lines, tileOf(items), 0, paintOf({ leastCover }), null)
    return lines.pixels[3] as number
  }
  // 1.4 % of a pixel: the faintest shade on a lane; on a track a slice that short is still seen.
  expect(sliver(0)).toBe(1000)
  expect(sliver()).toBeGreaterThan(1000)
})
