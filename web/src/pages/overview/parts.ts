// What a step of a rank is made of: the parts of its period, which add up to it.
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

export function partsOf(rank: RankSummary): SpanParts | null {
  if (rank.idle_us !== null) {
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
  const { window } = rank
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
