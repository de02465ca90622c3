// The timeline routes. Times relative to the run's origin are numbers, absolute ones are decimal text.
import { apiUrl, getJson, postForBytes, postJson, type Query } from './client'
import { runPath } from './runs'
import type {
  CounterRequest,
  Flame,
  FlameNode,
  FlameRequest,
  Flows,
  FlowsRequest,
  LanesAnswer,
  NameTable as Names,
  RangeGap,
  RangeStats,
  RankTracks,
  SearchResult as Found,
  SliceBrief,
  SliceDetails,
  StatsEntry,
  StatsRequest,
  StepMark,
  TileRequest,
  Track,
  TrackGroup,
  Tracks,
} from './schema'

export type {
  Flame,
  FlameNode,
  Flows,
  Found,
  LanesAnswer,
  RangeGap,
  RangeStats,
  RankTracks,
  SliceBrief,
  SliceDetails,
  StatsEntry,
  StatsRequest,
  StepMark,
  Track,
  TrackGroup,
  Tracks,
}

/** Some rows of a rank; without numbers all of them. */
export interface RowRange {
  readonly rank: number
  readonly first_row?: number
  readonly last_row?: number
}

const NAMES_AT_ONCE = 65_536
const SLICES_AT_ONCE = 10_000

/** The timeline routes of one run. */
export class TimelineApi {
  readonly #path: string

  constructor(run: string) {
    this.#path = runPath(run)
  }

  tracks(ranks: readonly number[], signal?: AbortSignal): Promise<Tracks> {
    return getJson(`${this.#path}/tracks`, { rank: ranks }, signal)
  }

  names(rank: number, offset: number, signal?: AbortSignal): Promise<Names> {
    return getJson(`${this.#path}/names`, { rank, offset, limit: NAMES_AT_ONCE }, signal)
  }

  tiles(tiles: readonly TileRequest[], signal?: AbortSignal): Promise<ArrayBuffer> {
    return postForBytes(`${this.#path}/tiles`, { tiles }, signal)
  }

  counters(tiles: readonly CounterRequest[], signal?: AbortSignal): Promise<ArrayBuffer> {
    return postForBytes(`${this.#path}/counters`, { tiles }, signal)
  }

  slice(rank: number, slice: number, signal?: AbortSignal): Promise<SliceDetails> {
    return getJson(`${this.#path}/slice/${rank}/${slice}`, {}, signal)
  }

  /** Where some slices lie; those that do not exist are left out. */
  async slices(
    keys: readonly { readonly rank: number; readonly slice: number }[],
    signal?: AbortSignal,
  ): Promise<readonly SliceBrief[]> {
    const found: SliceBrief[] = []
    for (let from = 0; from < keys.length; from += SLICES_AT_ONCE) {
      const slices = keys.slice(from, from + SLICES_AT_ONCE)
      found.push(...(await postJson<readonly SliceBrief[]>(`${this.#path}/slices`, { slices }, signal)))
    }
    return found
  }

  flame(request: FlameRequest, signal?: AbortSignal): Promise<Flame> {
    return postJson(`${this.#path}/flame`, request, signal)
  }

  /** Where a stretch of time of some ranks lies as a Chrome trace. */
  traceAddress(ranks: readonly number[], from: number, to: number): string {
    return apiUrl(`${this.#path}/trace`, { rank: ranks, from_ns: from, to_ns: to })
  }

  search(query: Query, signal?: AbortSignal): Promise<Found> {
    return getJson(`${this.#path}/search`, query, signal)
  }

  stats(request: StatsRequest, signal?: AbortSignal): Promise<RangeStats> {
    return postJson(`${this.#path}/stats`, request, signal)
  }

  flows(request: FlowsRequest, signal?: AbortSignal): Promise<Flows> {
    return postJson(`${this.#path}/flows`, request, signal)
  }

  lanes(ranks: readonly number[], from: number, to: number, signal?: AbortSignal): Promise<LanesAnswer> {
    return getJson(`${this.#path}/lanes`, { rank: ranks, from_ns: from, to_ns: to }, signal)
  }
}
