// The result of a query as a track of its own: `track=sql:<query>` in the address. A row of the result is a slice where it
// has `start_ns` and `dur_ns` (or `end_ns`), absolute nanoseconds of the rank's own clock as the store has them; `rank`,
// `name` and `slice` are used where they are there. A row with `slice` leads to that slice.
import { lowerBound } from './raster'

export const QUERY_PREFIX = 'sql:'

export interface QuerySlice {
  readonly rank: number
  readonly start: number
  readonly end: number
  readonly name: string
  /** Its number among the slices of the rank; null where the query does not tell. */
  readonly slice: number | null
}

export interface QueryTrack {
  /** Slices of each row in order of time; those of a row do not overlap. */
  readonly rows: readonly (readonly QuerySlice[])[]
  readonly slices: number
  /** Rows of the result that say no time. */
  readonly without: number
}

type Result = readonly Readonly<Record<string, unknown>>[]
/** More rows would be thinner than what they show. */
const MOST_ROWS = 8

export function queryOf(params: Readonly<Record<string, string>>): string | null {
  const text = params['track'] ?? ''
  return text.startsWith(QUERY_PREFIX) ? text.slice(QUERY_PREFIX.length) : null
}

/** `relative` gives moments of a rank's own clock as nanoseconds since the run's begin. */
export function queryTrack(result: Result, rank: number, relative: (rank: number, ns: string) => number): QueryTrack {
  const slices = result
    .flatMap((row): QuerySlice[] => {
      const slice = sliceOf(row, rank, relative)
      return slice ? [slice] : []
    })
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
  const rows: QuerySlice[][] = []
  for (const slice of slices) {
    const free = rows.find((row) => (row.at(-1)?.end ?? -Infinity) <= slice.start)
    if (free) free.push(slice)
    else if (rows.length < MOST_ROWS) rows.push([slice])
    else rows[MOST_ROWS - 1]?.push(slice)
  }
  return { rows, slices: slices.length, without: result.length - slices.length }
}

function sliceOf(
  row: Result[number],
  usual: number,
  relative: (rank: number, ns: string) => number,
): QuerySlice | null {
  const whole = (name: string): string | null => {
    const text = String(row[name] ?? '')
    return /^-?\d+$/.test(text) ? text : null
  }
  const start = whole('start_ns')
  const length = whole('dur_ns')
  const end = whole('end_ns')
  if (start === null || (length === null && end === null)) return null
  const rank = Number(whole('rank') ?? usual)
  const from = relative(rank, start)
  const to = length !== null ? from + Number(length) : relative(rank, end ?? start)
  const slice = whole('slice')
  return {
    rank,
    start: from,
    end: Math.max(from, to),
    name: String(row['name'] ?? ''),
    slice: slice === null ? null : Number(slice),
  }
}

/** The slices of a row that touch a stretch of time. */
export function touching(row: readonly QuerySlice[], start: number, end: number): readonly QuerySlice[] {
  const starts = Float64Array.from(row, (one) => one.start)
  let first = lowerBound(starts, 0, row.length, start)
  if (first > 0 && (row[first - 1] as QuerySlice).end > start) first -= 1
  return row.slice(first, lowerBound(starts, first, row.length, end))
}
