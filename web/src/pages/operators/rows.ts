// Rows of the operators: what is chosen, the top of them, and sub-totals.
import type { Operator } from '../../api/schema'

export const GROUPINGS = ['type', 'kernel', 'operator', 'shape', 'module', 'category', 'core'] as const
export type Grouping = (typeof GROUPINGS)[number]
export const METRICS = ['total_us', 'self_us', 'avg_us', 'count'] as const
export type Metric = (typeof METRICS)[number]

/** The chart shows this many rows in all; with more, the last is the rest. */
export const SHOWN = 20

export interface TopRow {
  readonly row: Operator | null
  readonly value: number
  /** How many rows the rest stands for; 0 for a row of its own. */
  readonly others: number
}

/** The value of a metric; time of calls inside counts once where the rows are nested calls. */
export function metricOf(row: Operator, metric: Metric): number {
  return row[metric] ?? 0
}

/** The highest rows and the rest of them. Means have no rest: they do not add up. */
export function topRows(rows: readonly Operator[], metric: Metric, shown = SHOWN): TopRow[] {
  const ordered = rows.toSorted((a, b) => metricOf(b, metric) - metricOf(a, metric))
  const own = (some: readonly Operator[]): TopRow[] =>
    some.map((row) => ({ row, value: metricOf(row, metric), others: 0 }))
  if (ordered.length <= shown) return own(ordered)
  if (metric === 'avg_us') return own(ordered.slice(0, shown))
  const rest = ordered.slice(shown)
  const value = rest.reduce((sum, row) => sum + metricOf(row, metric), 0)
  return [...own(ordered.slice(0, shown)), { row: null, value, others: rest.length }]
}

/** Rows of one type or category, as the links of other pages and the chart of categories ask. */
export function filtered(rows: readonly Operator[], type: string | null, category: string | null): readonly Operator[] {
  if (type === null && category === null) return rows
  return rows.filter(
    (row) => (type === null || row.type === type) && (category === null || (row.category ?? 'other') === category),
  )
}

/** What stands for a row in the address: rows have no number. */
export function keyOf(row: Operator): string {
  return [row.name ?? '', row.core ?? '', row.input_shapes ?? '', row.dtypes ?? ''].join('\t').trimEnd()
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

/** A long name, cut in the middle: template arguments at the end tell kernels apart as much as their beginning. */
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name
  const head = Math.ceil((most - 1) * 0.65)
  return `${name.slice(0, head)}…${name.slice(name.length - (most - 1 - head))}`
}
