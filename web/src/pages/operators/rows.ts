// Rows of the operators: what is chosen of them, and sub-totals.
import type { Query } from '../../api/client'
import type { Operator } from '../../api/schema'

export const GROUPINGS = ['type', 'kernel', 'operator', 'shape', 'module', 'category', 'core'] as const
export type Grouping = (typeof GROUPINGS)[number]
/** Stands for the row without a name: an empty text would be no choice. */
const UNNAMED = '–'

/** What stands for a row in the address: rows have no number. */
export function keyOf(row: Operator): string {
  return [row.name ?? UNNAMED, row.core ?? '', row.input_shapes ?? '', row.dtypes ?? ''].join('\t').trimEnd()
}

/** A link may name a row without what tells it from others of that name. */
export function isPicked(row: Operator, picked: readonly string[]): boolean {
  return picked.includes(keyOf(row)) || (row.name !== null && picked.includes(row.name))
}

/** The row that was picked last. */
export function pickedRow(rows: readonly Operator[], picked: readonly string[]): Operator | null {
  const last = picked.at(-1)
  return rows.find((row) => keyOf(row) === last) ?? rows.find((row) => row.name !== null && row.name === last) ?? null
}

/** What to ask of the server so that it tells of exactly the slices behind a row. */
export function occurrencesQuery(row: Operator, by: Grouping, lane: string, step: number | null): Query {
  return {
    by,
    name: row.name,
    side: row.side,
    lane,
    core: row.core,
    kernel_type: row.type,
    input_shapes: row.input_shapes,
    dtypes: row.dtypes,
    step,
  }
}

/** The line that says most of a stack: the innermost that is neither built in nor a part of the framework. */
export function siteName(frames: readonly string[]): string {
  const own = frames.findLast(
    (frame) => !/^<|^nn\.Module|site-packages|dist-packages|(^|\/)(torch|mindspore)\//.test(frame),
  )
  return own ?? frames.at(-1) ?? ''
}

export interface SubTotal {
  readonly rows: number
  readonly count: number
  readonly total_us: number
  readonly share: number
}

export function subTotal(rows: readonly Operator[]): SubTotal {
  return rows.reduce<SubTotal>(
    (sum, row) => ({
      rows: sum.rows + 1,
      count: sum.count + row.count,
      total_us: sum.total_us + row.total_us,
      share: sum.share + (row.share ?? 0),
    }),
    { rows: 0, count: 0, total_us: 0, share: 0 },
  )
}

/** Names of the hardware counters that any row has, those with a value other than 0 first. */
export function counterNames(rows: readonly Operator[]): readonly string[] {
  const names = new Map<string, boolean>()
  for (const row of rows) {
    for (const [name, value] of Object.entries(row.pmu ?? {})) names.set(name, (names.get(name) ?? false) || !!value)
  }
  return [...names].toSorted(([a, x], [b, y]) => Number(y) - Number(x) || a.localeCompare(b)).map(([name]) => name)
}
