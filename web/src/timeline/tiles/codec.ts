// Tiles as they come over the wire: little-endian columns, used as views on the buffer without copying.
import { ROWS_PER_BLOCK } from './key'

const TILES_MAGIC = 0x31545353
const COUNTERS_MAGIC = 0x31435353
const TILE_HEAD_BYTES = 16
const COUNTER_HEAD_BYTES = 24

export interface Tile {
  readonly items: number
  readonly x0: Float32Array
  readonly x1: Float32Array
  readonly id: Uint32Array
  readonly name: Uint32Array
  readonly count: Uint16Array
  readonly fill: Uint8Array
  readonly kind: Uint8Array
  /** Items of row r are rowStart[r] … rowStart[r + 1] - 1. */
  readonly rowStart: Uint32Array
  readonly bytes: number
}

export interface CounterTile {
  readonly bins: number
  readonly before: number
  readonly min: Float64Array
  readonly max: Float64Array
  readonly last: Float64Array
  readonly bin: Uint16Array
  readonly bytes: number
}

/** Tiles by their position in the request. Those that did not fit are absent. */
export function decodeTiles(buffer: ArrayBuffer): Map<number, Tile> {
  const head = new DataView(buffer)
  expectMagic(head, TILES_MAGIC)
  const tiles = new Map<number, Tile>()
  const total = head.getUint32(4, true)
  for (let n = 0; n < total; n += 1) {
    const at = 8 + n * TILE_HEAD_BYTES
    tiles.set(head.getUint32(at, true), decodeTile(buffer, head.getUint32(at + 4, true), head.getUint32(at + 8, true)))
  }
  return tiles
}

function decodeTile(buffer: ArrayBuffer, items: number, offset: number): Tile {
  let at = offset
  const x0 = new Float32Array(buffer, at, items)
  const x1 = new Float32Array(buffer, (at += 4 * items), items)
  const id = new Uint32Array(buffer, (at += 4 * items), items)
  const name = new Uint32Array(buffer, (at += 4 * items), items)
  const count = new Uint16Array(buffer, (at += 4 * items), items)
  const row = new Uint8Array(buffer, (at += 2 * items), items)
  const fill = new Uint8Array(buffer, (at += items), items)
  const kind = new Uint8Array(buffer, at + items, items)
  return { items, x0, x1, id, name, count, fill, kind, rowStart: rowStarts(row), bytes: 21 * items + 160 }
}

function rowStarts(row: Uint8Array): Uint32Array {
  const starts = new Uint32Array(ROWS_PER_BLOCK + 1)
  for (const value of row) starts[value + 1] = (starts[value + 1] ?? 0) + 1
  for (let r = 0; r < ROWS_PER_BLOCK; r += 1) starts[r + 1] = (starts[r + 1] ?? 0) + (starts[r] ?? 0)
  return starts
}

/** Counter tiles by their position in the request. */
export function decodeCounters(buffer: ArrayBuffer): Map<number, CounterTile> {
  const head = new DataView(buffer)
  expectMagic(head, COUNTERS_MAGIC)
  const tiles = new Map<number, CounterTile>()
  const total = head.getUint32(4, true)
  for (let n = 0; n < total; n += 1) {
    const at = 8 + n * COUNTER_HEAD_BYTES
    const bins = head.getUint32(at + 4, true)
    const offset = head.getUint32(at + 8, true)
    tiles.set(head.getUint32(at, true), {
      bins,
      before: head.getFloat64(at + 16, true),
      min: new Float64Array(buffer, offset, bins),
      max: new Float64Array(buffer, offset + 8 * bins, bins),
      last: new Float64Array(buffer, offset + 16 * bins, bins),
      bin: new Uint16Array(buffer, offset + 24 * bins, bins),
      bytes: 26 * bins + 160,
    })
  }
  return tiles
}

function expectMagic(head: DataView, magic: number): void {
  if (head.byteLength < 8 || head.getUint32(0, true) !== magic) throw new Error('The server sent no tiles.')
}
