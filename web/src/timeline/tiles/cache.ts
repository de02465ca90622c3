// Tiles in memory. The least recently used go first; the overview of the whole run stays.
import { keyText, spanOf, type TileKey, textOf } from './key'

interface Entry<T> {
  readonly tile: T
  readonly pinned: boolean
}

/** A cached tile that can stand in for a wanted one. */
export interface StandIn<T> {
  readonly tile: T
  readonly level: number
  readonly index: number
}

const COARSEST_STEP = 50
/** Finer tiles are a last resort: more steps would mean drawing hundreds of tiles. */
const FINEST_STEP = 4

export class TileCache<T extends { readonly bytes: number }> {
  readonly #entries = new Map<string, Entry<T>>()
  #bytes = 0

  constructor(readonly budget: number) {}

  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: TileKey): boolean {
    return this.#entries.has(textOf(key))
  }

  get(rank: number, block: number, level: number, index: number): T | undefined {
    const text = keyText(rank, block, level, index)
    const entry = this.#entries.get(text)
    if (!entry) return undefined
    // The order of a Map is the order of insertion: used again means inserted again.
    this.#entries.delete(text)
    this.#entries.set(text, entry)
    return entry.tile
  }

  put(key: TileKey, tile: T, pinned = false): void {
    const text = textOf(key)
    const old = this.#entries.get(text)
    if (old) {
      this.#bytes -= old.tile.bytes
      this.#entries.delete(text)
    }
    this.#entries.set(text, { tile, pinned: pinned || (old?.pinned ?? false) })
    this.#bytes += tile.bytes
    this.#evict()
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  /** The tile itself, else the nearest coarser one that covers it, else finer ones inside it. */
  standIns(rank: number, block: number, level: number, index: number): StandIn<T>[] {
    const exact = this.get(rank, block, level, index)
    if (exact) return [{ tile: exact, level, index }]
    for (let step = 1; level + step <= COARSEST_STEP; step += 1) {
      const coarse = Math.floor(index / 2 ** step)
      const tile = this.get(rank, block, level + step, coarse)
      if (tile) return [{ tile, level: level + step, index: coarse }]
    }
    return this.#finer(rank, block, level, index)
  }

  #finer(rank: number, block: number, level: number, index: number): StandIn<T>[] {
    for (let step = 1; step <= FINEST_STEP && level - step >= 0; step += 1) {
      const found: StandIn<T>[] = []
      const first = index * 2 ** step
      for (let fine = first; fine < first + 2 ** step; fine += 1) {
        const tile = this.get(rank, block, level - step, fine)
        if (tile) found.push({ tile, level: level - step, index: fine })
      }
      if (found.length > 0) return found
    }
    return []
  }

  #evict(): void {
    if (this.#bytes <= this.budget) return
    for (const [text, entry] of this.#entries) {
      if (entry.pinned) continue
      this.#entries.delete(text)
      this.#bytes -= entry.tile.bytes
      if (this.#bytes <= this.budget) return
    }
  }
}

/** Whether a stand-in covers a moment. */
export function covers(standIn: { level: number; index: number }, ns: number): boolean {
  const span = spanOf(standIn.level, standIn.index)
  return ns >= span.start && ns < span.end
}
