// What a step of a rank is made of.
import type { RankSummary } from '../../api/schema'

/** What the device did: in the median step from its begin to its end, or in the whole capture. */
export interface SpanParts {
  readonly of: 'step' | 'capture'
  readonly span: number
  readonly computing: number
  /** Own time of operators that hold others: computing, too. Only where the host computes. */
  readonly enclosing: number
  readonly exposedCommunication: number
  readonly exposedCopy: number
  readonly idle: number
}

export function partsOf(rank: RankSummary): SpanParts | null {
  if (rank.device_span_us !== null && rank.device_span_us > 0) {
    const enclosing = rank.enclosing_us ?? 0
    return {
      of: 'step',
      // The device may finish after the host's step: the same whole as the summary's shares.
      span: Math.max(rank.device_span_us, rank.duration_us ?? 0),
      computing: rank.computing_us ?? 0,
      enclosing,
      exposedCommunication: rank.exposed_communication_us ?? 0,
      exposedCopy: rank.exposed_copy_us ?? 0,
      idle: rank.idle_us ?? Math.max(0, (rank.free_us ?? 0) - enclosing),
    }
  }
  const { window } = rank
  if (window === null || window.span_us <= 0) return null
  return {
    of: 'capture',
    span: window.span_us,
    computing: window.computing_us,
    enclosing: 0,
    exposedCommunication: window.exposed_communication_us,
    exposedCopy: window.exposed_copy_us,
    idle: window.free_us,
  }
}
