// What a step of a rank is made of: the parts of its period, which add up to it.
import type { PlainKey } from '../../i18n/language.svelte'
import type { RankSummary } from '../../api/schema'

export interface SpanParts {
  readonly of: 'step' | 'capture'
  /** The mean period of a step, or the whole capture where the steps know nothing of the device. */
  readonly span: number
  readonly computing: number
  readonly exposedCommunication: number
  readonly exposedCopy: number
  readonly idle: number
  /** What closes the sum where neighbouring steps overlap on the device; 0 in ordinary runs. */
  readonly overlap: number
}

/** Up to so many ranks have a row each in sight; of more there is a chart. */
export const MOST_ROWS = 8

type PartField = 'computing_us' | 'exposed_communication_us' | 'exposed_copy_us' | 'idle_us' | 'overlap_us'
/** Whatever has the parts of a step: a line of `summary`, or one of `cluster`, which knows no whole capture. */
export type Timed = Pick<RankSummary, PartField | 'rank' | 'host'> & {
  readonly period_us: number | null
  readonly window?: RankSummary['window']
}

export function partsOf(rank: Timed): SpanParts | null {
  if (rank.idle_us !== null && rank.period_us !== null) {
    return {
      of: 'step',
      span: rank.period_us,
      computing: rank.computing_us ?? 0,
      exposedCommunication: rank.exposed_communication_us ?? 0,
      exposedCopy: rank.exposed_copy_us ?? 0,
      idle: rank.idle_us,
      overlap: rank.overlap_us ?? 0,
    }
  }
  const { window = null } = rank
  if (window === null || window.span_us <= 0) return null
  return {
    of: 'capture',
    span: window.span_us,
    computing: window.computing_us,
    exposedCommunication: window.exposed_communication_us,
    exposedCopy: window.exposed_copy_us,
    idle: window.free_us,
    overlap: 0,
  }
}

/** Whether copies cost more than communication and than idle time: then they are no footnote. */
export function copiesLead(copies: number, communication: number, idle: number): boolean {
  return copies > Math.max(communication, idle)
}

/** As given, by number, or the largest of one part first. */
export type RankOrder = 'given' | 'rank' | 'span' | 'computing' | 'exposedCommunication' | 'idle'

export function inOrder<T extends SpanParts & { readonly rank: number }>(rows: readonly T[], order: RankOrder): T[] {
  if (order === 'given') return [...rows]
  return rows.toSorted((a, b) => (order === 'rank' ? a.rank - b.rank : b[order] - a[order] || a.rank - b.rank))
}

/** The parts of a step in the order in which bars draw them: name, field of the answer, label, colour. */
export const RANK_PARTS: readonly (readonly [Exclude<keyof SpanParts, 'of' | 'span'>, PartField, PlainKey, string])[] =
  [
    ['computing', 'computing_us', 'steps.computing', '--compute'],
    ['exposedCommunication', 'exposed_communication_us', 'steps.exposed_communication', '--exposed'],
    ['exposedCopy', 'exposed_copy_us', 'steps.exposed_copy', '--copy'],
    ['idle', 'idle_us', 'steps.idle', '--idle'],
    ['overlap', 'overlap_us', 'steps.overlap', '--overlap'],
  ]
