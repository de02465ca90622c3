// The timeline routes of two runs: what is asked about ranks of side B goes to the other run.
import { asSideB, bySide, isSideB, ownRank } from '../timeline/sides'
import {
  TimelineApi,
  type Flame,
  type Flows,
  type Found,
  type LanesAnswer,
  type RangeStats,
  type SliceDetails,
  type Tracks,
} from './timeline'
import type { Query } from './client'
import type { FlameRequest, FlowsRequest, StatsRequest } from './schema'

type Keyed = { readonly rank: number; readonly level: number; readonly index: number }

export class TwoSides extends TimelineApi {
  /** Side B; null where nothing is compared. */
  other: TimelineApi | null = null

  override async tracks(ranks: readonly number[], signal?: AbortSignal): Promise<Tracks> {
    const [first = 0] = ranks
    if (!isSideB(first)) return super.tracks(ranks, signal)
    return asSideB(await this.#sideB().tracks(ranks.map(ownRank), signal))
  }

  override names(rank: number, offset: number, signal?: AbortSignal): ReturnType<TimelineApi['names']> {
    return isSideB(rank) ? this.#sideB().names(ownRank(rank), offset, signal) : super.names(rank, offset, signal)
  }

  override async slice(rank: number, slice: number, signal?: AbortSignal): Promise<SliceDetails> {
    if (!isSideB(rank)) return super.slice(rank, slice, signal)
    return asSideB(await this.#sideB().slice(ownRank(rank), slice, signal))
  }

  override async stats(request: StatsRequest, signal?: AbortSignal): Promise<RangeStats> {
    const [side = null] = bySide(request.rows)
    if (side?.side !== 'b') return super.stats({ ...request, rows: side?.items ?? request.rows }, signal)
    return asSideB(await this.#sideB().stats({ ...request, rows: side.items }, signal))
  }

  override async flame(request: FlameRequest, signal?: AbortSignal): Promise<Flame> {
    const [side = null] = bySide(request.rows)
    if (side?.side !== 'b') return super.flame({ ...request, rows: side?.items ?? request.rows }, signal)
    return this.#sideB().flame({ ...request, rows: side.items }, signal)
  }

  override async flows(request: FlowsRequest, signal?: AbortSignal): Promise<Flows> {
    // Windows of several ranks are of side A; a selection belongs to the side of its last slice.
    const rows = request.rows?.filter((one) => !isSideB(one.rank))
    const last = request.slices?.at(-1)
    if (!last || !isSideB(last.rank)) {
      const slices = request.slices?.filter((one) => !isSideB(one.rank))
      return super.flows({ ...request, ...(rows ? { rows } : {}), ...(slices ? { slices } : {}) }, signal)
    }
    const slices = request.slices?.flatMap((one) => (isSideB(one.rank) ? [{ ...one, rank: ownRank(one.rank) }] : []))
    const flows = await this.#sideB().flows({ ...request, slices: slices ?? null }, signal)
    return { ...flows, rank: flows.rank.map((rank) => rank + last.rank - ownRank(last.rank)) }
  }

  /** Lanes of ranks of one side. */
  override async lanes(ranks: readonly number[], from: number, to: number, signal?: AbortSignal): Promise<LanesAnswer> {
    if (!isSideB(ranks[0] ?? 0)) return super.lanes(ranks, from, to, signal)
    return asSideB(await this.#sideB().lanes(ranks.map(ownRank), from, to, signal))
  }

  /** Slices of ranks of one side. */
  override async search(query: Query, signal?: AbortSignal): Promise<Found> {
    const ranks = Array.isArray(query['rank']) ? query['rank'].map(Number) : []
    if (!isSideB(ranks[0] ?? 0)) return super.search(query, signal)
    const current = query['current_rank']
    const own = typeof current === 'number' ? { current_rank: ownRank(current) } : {}
    return asSideB(await this.#sideB().search({ ...query, ...own, rank: ranks.map(ownRank) }, signal))
  }

  override traceAddress(ranks: readonly number[], from: number, to: number): string {
    if (!isSideB(ranks[0] ?? 0)) return super.traceAddress(ranks, from, to)
    return this.#sideB().traceAddress(ranks.map(ownRank), from, to)
  }

  /** Tiles of both sides by their position in the request. */
  async decoded<K extends Keyed, T>(
    keys: readonly K[],
    ask: (api: TimelineApi, keys: readonly K[]) => Promise<Map<number, T>>,
  ): Promise<Map<number, T>> {
    const tiles = new Map<number, T>()
    await Promise.all(
      bySide(keys).map(async ({ side, items, places }) => {
        for (const [position, tile] of await ask(side === 'a' ? this : this.#sideB(), items)) {
          const place = places[position]
          if (place !== undefined) tiles.set(place, tile)
        }
      }),
    )
    return tiles
  }

  #sideB(): TimelineApi {
    if (!this.other) throw new Error('Nothing is compared.')
    return this.other
  }
}
