// The calls of some ranks as bars in time: one row per rank, times in ns from the first call on.
import type { CollectiveCall, Wait } from '../../api/schema'

export interface CallBar {
  readonly call: CollectiveCall
  readonly row: number
  readonly start: number
  readonly end: number
  /** Where waiting ends and data moves; the start where waiting is unknown. */
  readonly moves: number
}

export interface CallRows {
  readonly ranks: readonly number[]
  readonly bars: readonly CallBar[]
  readonly length: number
  /** Nanoseconds of the run's clock at which the picture begins. */
  readonly origin: bigint
}

/** Bars in the order of time; with `aligned`, ranks are shifted so that this call ends at the same moment on all of them. */
export function callRows(calls: readonly CollectiveCall[], aligned: number | null = null): CallRows {
  const ranks = [...new Set(calls.map((call) => call.rank))].toSorted((a, b) => a - b)
  const rowOf = new Map(ranks.map((rank, row) => [rank, row] as const))
  const starts = calls.map((call) => BigInt(call.start_ns))
  const origin = starts.reduce((least, one) => (one < least ? one : least), starts[0] ?? 0n)
  const shifts = shiftsOf(calls, starts, origin, aligned)
  const bars = calls.map((call, index): CallBar => {
    const start = Number((starts[index] ?? 0n) - origin) + (shifts.get(call.rank) ?? 0)
    const end = start + call.duration_us * 1000
    const moves = Math.min(end, start + (call.wait_us ?? 0) * 1000)
    return { call, row: rowOf.get(call.rank) ?? 0, start, end, moves }
  })
  const first = Math.min(0, ...bars.map((bar) => bar.start))
  const moved = bars.map((bar) => ({
    ...bar,
    start: bar.start - first,
    end: bar.end - first,
    moves: bar.moves - first,
  }))
  return { ranks, bars: moved, length: Math.max(1, ...moved.map((bar) => bar.end)), origin }
}

/** How far each rank's clock is moved so that a call ends on all ranks when it ends on the last. */
function shiftsOf(
  calls: readonly CollectiveCall[],
  starts: readonly bigint[],
  origin: bigint,
  aligned: number | null,
): ReadonlyMap<number, number> {
  if (aligned === null) return new Map()
  const ends = calls.flatMap((call, index) =>
    call.call === aligned
      ? [[call.rank, Number((starts[index] ?? 0n) - origin) + call.duration_us * 1000] as const]
      : [],
  )
  const last = Math.max(...ends.map(([, end]) => end))
  return new Map(ends.map(([rank, end]) => [rank, last - end]))
}

/** The bar at a moment of a row. */
export function barAt(rows: CallRows, row: number, from: number, to: number): CallBar | null {
  return rows.bars.find((bar) => bar.row === row && bar.start <= to && bar.end >= from) ?? null
}

/** As many rows fit on a screen. */
export const MOST_ROWS = 64

/** Ranks to look at: those that others wait for most, then the rest in their order. */
export function ranksToShow(ranks: readonly number[], waits: readonly Wait[], most = MOST_ROWS): number[] {
  if (ranks.length <= most) return [...ranks]
  const caused = new Map<number, number>()
  for (const wait of waits) caused.set(wait.root, (caused.get(wait.root) ?? 0) + wait.wait_us)
  const known = new Set(ranks)
  const blamed = [...caused]
    .filter(([rank]) => known.has(rank))
    .toSorted(([a, x], [b, y]) => y - x || a - b)
    .slice(0, most / 2)
    .map(([rank]) => rank)
  const first = new Set(blamed)
  return [...blamed, ...ranks.filter((rank) => !first.has(rank))].slice(0, most).toSorted((a, b) => a - b)
}
