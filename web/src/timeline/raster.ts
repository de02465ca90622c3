// The scanline rasteriser: each row is one line of pixels, later stretched to its height. Its cost is bounded by the
// pixels of the screen, not by the number of slices.
import { SHADES } from './palette'
import { BINS } from './tiles/key'
import type { Tile } from './tiles/codec'

export interface Lines {
  readonly width: number
  readonly pixels: Uint32Array
  /** How much of a pixel its colour stands for, 0…255; a fuller slice wins over a thinner one. */
  readonly cover: Uint8Array
}

/** Slices wide enough for a label or cut by the edge of a tile; an array of columns reused between frames. */
export interface LabelSink {
  add(line: number, x0: number, x1: number, id: number, colour: number, name: number): void
}

export interface RowPaint {
  readonly line: number
  /** Pixels per bin and the pixel at which the tile begins. */
  readonly scale: number
  readonly origin: number
  /** Pixels that may be painted: the part of the window this tile stands for. */
  readonly clipStart: number
  readonly clipEnd: number
  /** Colour by name code. */
  readonly colours: Uint8Array
  /** Colour by kind instead, when the user chose that. */
  readonly kindColours: Uint8Array | null
  readonly table: Uint32Array
  readonly dimmed: Uint32Array
  /** One byte per name: 0 = dim. Null when nothing is dimmed. */
  readonly bright: Uint8Array | null
  /** The same by kind, and lengths in bins that stay bright. */
  readonly brightKinds?: Uint8Array | null | undefined
  readonly brightLengths?: { readonly least: number; readonly most: number } | null | undefined
  /** Colour of the line between slices. */
  readonly edge: number
  /** How much of a pixel the thinnest slice is shown as, 0…255. */
  readonly leastCover?: number | undefined
}

/** Narrower slices get no line at their left edge. */
const EDGE_PIXELS = 5
export const LABEL_PIXELS = 26
const FULL = 255
/** The thinnest slice still shows. */
const LEAST_COVER = 60

/** Paint the items of one row of a tile. Returns how many were walked. */
export function paintRow(lines: Lines, tile: Tile, row: number, paint: RowPaint, labels: LabelSink | null): number {
  const begin = tile.rowStart[row] ?? 0
  const end = tile.rowStart[row + 1] ?? 0
  if (begin === end) return 0
  const { scale, origin, clipStart, clipEnd } = paint
  const leastCover = paint.leastCover ?? LEAST_COVER
  const firstBin = (clipStart - origin) / scale
  const lastBin = (clipEnd - origin) / scale
  // The slice before the first one that starts inside may reach in.
  let i = Math.max(begin, lowerBound(tile.x0, begin, end, firstBin) - 1)
  const walkedFrom = i
  const base = paint.line * lines.width
  for (; i < end; i += 1) {
    const x0 = tile.x0[i] as number
    if (x0 >= lastBin) break
    const x1 = tile.x1[i] as number
    const count = tile.count[i] as number
    const name = tile.name[i] as number
    const colour = (paint.kindColours === null ? paint.colours[name] : paint.kindColours[tile.kind[i] as number]) ?? 0
    const shades = isDimmed(paint, name, tile.kind[i] as number, x0, x1) ? paint.dimmed : paint.table
    const a = origin + x0 * scale
    const b = origin + x1 * scale
    if (count > 1) {
      const fill = tile.fill[i] as number
      const head = origin + Math.floor(x0) * scale
      span(lines, base, head, Math.max(a, head + scale), clipStart, clipEnd, Math.max(fill, leastCover), shades, colour)
    }
    if (b - a >= 1) {
      solid(lines, base, a, b, clipStart, clipEnd, shades, colour, count === 0 ? null : paint.edge)
      if (labels !== null && (b - a >= LABEL_PIXELS || x0 === 0 || x1 >= 1024)) {
        labels.add(paint.line, Math.max(a, clipStart), Math.min(b, clipEnd), tile.id[i] as number, colour, name)
      }
    } else {
      const cover = Math.max(leastCover, Math.round((b - a) * FULL))
      span(lines, base, a, Math.max(b, a + 0.01), clipStart, clipEnd, cover, shades, colour)
    }
  }
  return i - walkedFrom
}

/** Whether a search does not mean this slice. */
function isDimmed(paint: RowPaint, name: number, kind: number, x0: number, x1: number): boolean {
  if (paint.bright !== null && paint.bright[name] !== 1) return true
  if (paint.brightKinds && paint.brightKinds[kind] !== 1) return true
  if (!paint.brightLengths) return false
  // A slice that the tile cuts may be of any greater length.
  const isCut = x0 === 0 || x1 >= BINS
  return (x1 - x0 < paint.brightLengths.least && !isCut) || x1 - x0 > paint.brightLengths.most
}

/** A part-busy stretch: its cover is its brightness. */
function span(
  lines: Lines,
  base: number,
  a: number,
  b: number,
  clipStart: number,
  clipEnd: number,
  cover: number,
  shades: Uint32Array,
  colour: number,
): void {
  const from = Math.max(Math.floor(a), clipStart)
  const to = Math.min(Math.max(Math.ceil(b), from + 1), clipEnd)
  const value = shades[colour * SHADES + ((cover * (SHADES - 1)) >> 8)] as number
  for (let p = base + from; p < base + to; p += 1) {
    if (cover >= (lines.cover[p] as number)) {
      lines.pixels[p] = value
      lines.cover[p] = cover
    }
  }
}

/** A slice of at least a pixel. Inner pixels are full; the first one carries a darker edge when there is room. */
function solid(
  lines: Lines,
  base: number,
  a: number,
  b: number,
  clipStart: number,
  clipEnd: number,
  shades: Uint32Array,
  colour: number,
  edge: number | null,
): void {
  const from = Math.max(Math.round(a), clipStart)
  const to = Math.min(Math.max(Math.round(b), Math.round(a) + 1), clipEnd)
  if (from >= to) return
  const value = shades[colour * SHADES + SHADES - 1] as number
  lines.pixels.fill(value, base + from, base + to)
  lines.cover.fill(FULL, base + from, base + to)
  if (edge !== null && b - a >= EDGE_PIXELS && Math.round(a) >= clipStart) lines.pixels[base + from] = edge
}

/** First index in [begin, end) whose value is at least `value`. */
export function lowerBound(values: Float32Array | Float64Array, begin: number, end: number, value: number): number {
  let low = begin
  let high = end
  while (low < high) {
    const middle = (low + high) >> 1
    if ((values[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}
