// Fetches missing tiles in batches: two in flight, the newest wish first, the queue rebuilt with every frame.
import { isAborted } from '../../api/errors'
import type { TileCache } from './cache'
import { textOf, type TileKey } from './key'

const IN_FLIGHT = 2
/** Keys of a batch; the server answers about 2 MB of them and leaves the rest for the next frame. */
const BATCH_KEYS = 96
const RETRY_MS = 1500

export interface Wanted extends TileKey {
  /** Part of the whole-run overview, which is never dropped. */
  readonly pinned?: boolean
}

export interface LoaderOptions<T extends { readonly bytes: number }> {
  readonly cache: TileCache<T>
  readonly fetch: (keys: readonly TileKey[], signal: AbortSignal) => Promise<Map<number, T>>
  readonly onarrival: () => void
  readonly onerror: (error: unknown) => void
}

export class TileLoader<T extends { readonly bytes: number }> {
  #queue: Wanted[] = []
  readonly #flying = new Set<string>()
  #batches = 0
  #pausedUntil = 0
  #stop = new AbortController()
  /** For tests and measurements. */
  readonly counters = { requests: 0, tiles: 0 }

  constructor(private readonly options: LoaderOptions<T>) {}

  /** Nothing is missing and nothing is on its way. */
  get idle(): boolean {
    return this.#queue.length === 0 && this.#batches === 0
  }

  /** What the present frame lacks, most wanted first; replaces every earlier wish that is not yet on its way. */
  want(keys: readonly Wanted[]): void {
    this.#queue = keys.filter((key) => !this.options.cache.has(key) && !this.#flying.has(textOf(key)))
    this.#pump()
  }

  dispose(): void {
    this.#queue = []
    this.#stop.abort()
  }

  #pump(): void {
    while (this.#batches < IN_FLIGHT && this.#queue.length > 0 && performance.now() >= this.#pausedUntil) {
      const batch = this.#queue.splice(0, BATCH_KEYS)
      void this.#load(batch)
    }
  }

  async #load(batch: readonly Wanted[]): Promise<void> {
    this.#batches += 1
    this.counters.requests += 1
    for (const key of batch) this.#flying.add(textOf(key))
    try {
      const tiles = await this.options.fetch(batch, this.#stop.signal)
      for (const [position, tile] of tiles) {
        const key = batch[position]
        if (key) this.options.cache.put(key, tile, key.pinned ?? false)
      }
      this.counters.tiles += tiles.size
    } catch (error) {
      if (isAborted(error)) return
      this.#pausedUntil = performance.now() + RETRY_MS
      setTimeout(() => this.options.onarrival(), RETRY_MS)
      this.options.onerror(error)
    } finally {
      this.#batches -= 1
      for (const key of batch) this.#flying.delete(textOf(key))
    }
    // The next frame asks again for what it still lacks.
    this.options.onarrival()
    this.#pump()
  }
}
