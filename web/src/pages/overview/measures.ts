// Numbers in which ranks are compared at a glance, and which of them shows best what the verdict says.
import type { PlainKey } from '../../i18n/language.svelte'
import type { Finding, RankRow } from '../../api/schema'
import { latenessUs } from '../../state/lateness'

export type MeasureId = 'late' | 'period' | 'computing' | 'communication' | 'idle'

export interface Measure {
  readonly id: MeasureId
  readonly title: PlainKey
  readonly of: (row: RankRow) => number | null
}

const MEASURES: readonly Measure[] = [
  { id: 'late', title: 'overview.measure_late', of: latenessUs },
  { id: 'period', title: 'steps.period', of: (row) => row.period_us },
  { id: 'computing', title: 'steps.computing', of: (row) => row.computing_us },
  { id: 'communication', title: 'steps.exposed_communication', of: (row) => row.exposed_communication_us },
  { id: 'idle', title: 'steps.idle', of: (row) => row.idle_us },
]
const COMPUTE_LONGER: ReadonlySet<string> = new Set(['expert_imbalance', 'sequence_imbalance', 'stage_imbalance'])

/** Whether it was seen that some ranks come later than others to what they do together. */
export function someAreLate(rows: readonly RankRow[]): boolean {
  return rows.some((row) => (row.delay_us ?? 0) > 0)
}

export function measuresOf(rows: readonly RankRow[]): readonly Measure[] {
  const late = someAreLate(rows)
  return MEASURES.filter(({ id }) => id !== 'late' || late)
}

/** What sets the accused ranks apart: those that wait for a rank that computes longer come late elsewhere, too. */
export function tellingMeasure(accusing: readonly Finding[], known: readonly Measure[]): Measure | undefined {
  const [first] = accusing
  const computes =
    first !== undefined &&
    (COMPUTE_LONGER.has(first.kind) || (['slow_rank', 'slow_host'].includes(first.kind) && first.cause === 'compute'))
  return (computes ? known.find(({ id }) => id === 'computing') : undefined) ?? known[0]
}

/** The largest first: what stands at the beginning of a chart that cannot show all ranks. */
export function largestFirst(rows: readonly RankRow[], measure: Measure | undefined): readonly RankRow[] {
  const value = (row: RankRow): number => measure?.of(row) ?? -Infinity
  return rows.toSorted((a, b) => value(b) - value(a) || a.rank - b.rank)
}
