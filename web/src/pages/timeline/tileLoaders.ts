// Who fetches what a frame lacks: tiles of slices and of counters, each into its own cache.
import type { TwoSides } from '../../api/twoSides'
import type { TileCache } from '../../timeline/tiles/cache'
import { decodeCounters, decodeTiles, type CounterTile, type Tile } from '../../timeline/tiles/codec'
import { TileLoader } from '../../timeline/tiles/loader'

interface Hooks {
  readonly onarrival: () => void
  readonly onerror: (error: unknown) => void
  /** The server answers again. */
  readonly onanswer: () => void
}

export function sliceLoader(api: TwoSides, cache: TileCache<Tile>, hooks: Hooks): TileLoader<Tile> {
  const { onarrival, onerror, onanswer } = hooks
  return new TileLoader({
    onarrival,
    onerror,
    cache,
    fetch: async (keys, signal) => {
      const wire = keys.map(({ rank, block, level, index }) => ({ rank, block, level, index }))
      const tiles = await api.decoded(wire, async (side, own) => decodeTiles(await side.tiles(own, signal)))
      onanswer()
      return tiles
    },
  })
}

export function counterLoader(api: TwoSides, cache: TileCache<CounterTile>, hooks: Hooks): TileLoader<CounterTile> {
  const { onarrival, onerror } = hooks
  return new TileLoader({
    onarrival,
    onerror,
    cache,
    fetch: async (keys, signal) => {
      const wire = keys.map(({ rank, block, level, index }) => ({ rank, track: block, level, index }))
      return api.decoded(wire, async (side, own) => decodeCounters(await side.counters(own, signal)))
    },
  })
}
