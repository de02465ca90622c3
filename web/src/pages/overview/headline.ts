// The first sentence of the page: the largest part of the step that is not its purpose.
import type { RankSummary } from '../../api/schema'

export type Verdict = 'free' | 'communication' | 'copy' | 'computing' | 'interval' | 'none'

export interface Headline {
  readonly verdict: Verdict
  /** Share of the step (interval) or of the device span (all others), 0..1. */
  readonly share: number
}

/** An interval of this share is the first thing to look at: the same limit as the vendor's guide uses for a long interval. */
const LONG_INTERVAL = 0.2
/** Losses below this share leave computing as the first thing to look at. */
const NOTABLE_LOSS = 0.15

/** Parts of a device span: of the median step, or of the whole window. */
export interface SpanParts {
  readonly span: number
  readonly computing: number
  readonly exposedCommunication: number
  readonly exposedCopy: number
  readonly free: number
}

export function partsOf(rank: RankSummary): SpanParts | null {
  if (rank.device_span_us !== null && rank.device_span_us > 0) {
    return {
      span: rank.device_span_us,
      computing: rank.computing_us ?? 0,
      exposedCommunication: rank.exposed_communication_us ?? 0,
      exposedCopy: rank.exposed_copy_us ?? 0,
      free: rank.free_us ?? 0,
    }
  }
  const { window } = rank
  if (window === null || window.span_us <= 0) return null
  return {
    span: window.span_us,
    computing: window.computing_us,
    exposedCommunication: window.exposed_communication_us,
    exposedCopy: window.exposed_copy_us,
    free: window.free_us,
  }
}

export function headline(rank: RankSummary): Headline {
  if (rank.interval_us !== null && rank.duration_us && rank.interval_us / rank.duration_us >= LONG_INTERVAL) {
    return { verdict: 'interval', share: rank.interval_us / rank.duration_us }
  }
  const parts = partsOf(rank)
  if (!parts) return { verdict: 'none', share: 0 }
  const losses: readonly (readonly [Verdict, number])[] = [
    ['free', parts.free],
    ['communication', parts.exposedCommunication],
    ['copy', parts.exposedCopy],
  ]
  const [verdict, worst] = losses.toSorted((a, b) => b[1] - a[1])[0] ?? ['none', 0]
  if (worst / parts.span >= NOTABLE_LOSS) return { verdict, share: worst / parts.span }
  return { verdict: 'computing', share: parts.computing / parts.span }
}
