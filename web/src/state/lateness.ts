// How late a rank comes, for heat grids and for `slow:8`: a direction, other than the `deviation_share` of its row, which
// says how far it is from its peers either way. What that means as a verdict is for the findings.
import type { RankRow } from '../api/schema'

type Compared = Pick<RankRow, 'rank' | 'delay_us' | 'computing_us' | 'period_us'>

/** How much the rank comes late to what it does with others; without common calls, how long it computes; null if unknown. */
export function latenessUs(row: Compared): number | null {
  return row.delay_us ?? row.computing_us ?? row.period_us
}

/** Numbers of the ranks, the furthest behind first. */
export function slowestFirst(rows: readonly Compared[]): readonly number[] {
  const known = rows.flatMap((row) => {
    const value = latenessUs(row)
    return value === null ? [] : [{ rank: row.rank, value }]
  })
  return known.toSorted((a, b) => b.value - a.value || a.rank - b.rank).map((one) => one.rank)
}
