// The first sentence of the page: the largest part of the step that is not its purpose.
import type { RankSummary } from '../../api/schema'

export type Verdict = 'free' | 'communication' | 'communication_only' | 'copy' | 'computing' | 'interval' | 'none'

export interface Headline {
  readonly verdict: Verdict
  /** Share of the step, or of the whole capture where the steps know nothing of the device, 0..1. */
  readonly share: number
}

/** An interval of this share is the first thing to look at: the same limit as the vendor's guide uses for a long interval. */
const LONG_INTERVAL = 0.2
/** Losses below this share leave computing as the first thing to look at. */
const NOTABLE_LOSS = 0.15

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

export function headline(rank: RankSummary): Headline {
  if (rank.interval_us !== null && rank.duration_us && rank.interval_us / rank.duration_us >= LONG_INTERVAL) {
    return { verdict: 'interval', share: rank.interval_us / rank.duration_us }
  }
  const parts = partsOf(rank)
  if (!parts) return { verdict: 'none', share: 0 }
  const losses: readonly (readonly [Verdict, number])[] = [
    ['free', parts.idle],
    ['communication', parts.exposedCommunication],
    ['copy', parts.exposedCopy],
  ]
  const [verdict, worst] = losses.toSorted((a, b) => b[1] - a[1])[0] ?? ['none', 0]
  // Where no computing was recorded, nobody can tell what hides the communication.
  if (verdict === 'communication' && parts.computing + parts.enclosing === 0)
    return { verdict: 'communication_only', share: worst / parts.span }
  if (worst / parts.span >= NOTABLE_LOSS) return { verdict, share: worst / parts.span }
  return { verdict: 'computing', share: (parts.computing + parts.enclosing) / parts.span }
}
