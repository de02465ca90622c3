// What lies under the pointer.
import { lowerBound } from './raster'
import type { StandIn, TileCache } from './tiles/cache'
import type { Tile } from './tiles/codec'
import { BINS, HIGHEST_LEVEL, spanOf, tileLength } from './tiles/key'

export interface Hit {
  readonly rank: number
  readonly block: number
  readonly row: number
  readonly id: number
  readonly name: number
  readonly kind: number
  /** On the rank's clock, exact to the bin; the details give exact numbers. */
  readonly start: number
  readonly end: number
  /** How many slices start in the bin that was hit, and how busy it is; 1 for a slice of its own. */
  readonly count: number
  readonly fill: number
}

/** The slice of a row at a moment, or the nearest one within the tolerance. */
export function hitTest(
  cache: TileCache<Tile>,
  rank: number,
  block: number,
  row: number,
  level: number,
  ns: number,
  tolerance: number,
): Hit | null {
  const width = 2 ** level
  let best: Hit | null = null
  let bestGap = tolerance
  // The tolerance may reach over the edge of a tile.
  const first = Math.floor((ns - tolerance) / (width * 1024))
  const last = Math.floor((ns + tolerance) / (width * 1024))
  for (let index = first; index <= last; index += 1) {
    for (const standIn of cache.standIns(rank, block, level, index)) {
      const found = nearest(standIn, row, ns)
      if (!found) continue
      const { start, end } = found
      const gap = ns < start ? start - ns : ns > end ? ns - end : 0
      if (gap <= bestGap && (best === null || gap < bestGap)) {
        best = { rank, block, row, ...found }
        bestGap = gap
      }
    }
  }
  return best === null ? null : whole(cache, best, level)
}

/** Tiles to walk in each direction before a coarser level is asked for the rest of a slice. */
const MOST_NEIGHBOURS = 4

/** A slice that spans tiles arrives once per tile: put its pieces together again, as far as they are known. */
function whole(cache: TileCache<Tile>, hit: Hit, level: number): Hit {
  const length = tileLength(level)
  const pieces = { ...hit, openStart: hit.start % length === 0, openEnd: hit.end % length === 0 }
  for (let n = 0; n < MOST_NEIGHBOURS && pieces.openStart; n += 1) {
    if (!join(cache, pieces, level, Math.floor(pieces.start / length) - 1, pieces.start)) break
  }
  for (let n = 0; n < MOST_NEIGHBOURS && pieces.openEnd; n += 1) {
    if (!join(cache, pieces, level, Math.floor(pieces.end / length), pieces.end)) break
  }
  for (let coarse = level + 1; coarse <= HIGHEST_LEVEL && (pieces.openStart || pieces.openEnd); coarse += 1) {
    const middle = (pieces.start + pieces.end) / 2
    join(cache, pieces, coarse, Math.floor(middle / tileLength(coarse)), middle)
  }
  return { ...hit, start: pieces.start, end: pieces.end }
}

type Pieces = { -readonly [K in keyof Hit]: Hit[K] } & { openStart: boolean; openEnd: boolean }

/** Widen a slice by its piece in one cached tile near a moment; false when the tile or the piece is not there. */
function join(cache: TileCache<Tile>, pieces: Pieces, level: number, index: number, ns: number): boolean {
  const tile = cache.get(pieces.rank, pieces.block, level, index)
  if (!tile) return false
  const begin = tile.rowStart[pieces.row & 15] ?? 0
  const end = tile.rowStart[(pieces.row & 15) + 1] ?? 0
  const { start: origin } = spanOf(level, index)
  const bin = 2 ** level
  const after = lowerBound(tile.x0, begin, end, (ns - origin) / bin)
  const found = [after - 1, after].find((i) => i >= begin && i < end && tile.id[i] === pieces.id)
  if (found === undefined) return false
  if (pieces.openStart) {
    const start = origin + (tile.x0[found] as number) * bin
    pieces.openStart = (tile.x0[found] as number) === 0
    pieces.start = Math.min(pieces.start, start)
  }
  if (pieces.openEnd) {
    const reach = origin + (tile.x1[found] as number) * bin
    pieces.openEnd = (tile.x1[found] as number) >= BINS
    pieces.end = Math.max(pieces.end, reach)
  }
  return true
}

function nearest(standIn: StandIn<Tile>, row: number, ns: number): Omit<Hit, 'rank' | 'block' | 'row'> | null {
  const { tile, level, index } = standIn
  const bin = 2 ** level
  const origin = spanOf(level, index).start
  const begin = tile.rowStart[row & 15] ?? 0
  const end = tile.rowStart[(row & 15) + 1] ?? 0
  if (begin === end) return null
  const x = (ns - origin) / bin
  const after = lowerBound(tile.x0, begin, end, x)
  let best = -1
  let bestGap = Infinity
  for (const i of [after - 1, after]) {
    if (i < begin || i >= end) continue
    const gap = distance(x, headOf(tile, i), tile.x1[i] as number)
    if (gap < bestGap) {
      best = i
      bestGap = gap
    }
  }
  if (best < 0) return null
  const shared = (tile.count[best] as number) > 1 && x < (tile.x0[best] as number)
  const head = shared ? headOf(tile, best) : (tile.x0[best] as number)
  return {
    id: tile.id[best] as number,
    name: tile.name[best] as number,
    kind: tile.kind[best] as number,
    start: origin + head * bin,
    end: origin + (tile.x1[best] as number) * bin,
    count: Math.max(1, tile.count[best] as number),
    fill: (tile.fill[best] as number) / 255,
  }
}

/** Where the shared part of a bin begins; a slice of its own begins at itself. */
function headOf(tile: Tile, i: number): number {
  const x0 = tile.x0[i] as number
  return (tile.count[i] as number) > 1 ? Math.floor(x0) : x0
}

function distance(x: number, from: number, to: number): number {
  return x < from ? from - x : x > to ? x - to : 0
}
