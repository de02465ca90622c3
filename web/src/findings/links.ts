// Where a finding can be seen: the address of its proof.
import type { Finding, Proof, RunDetails } from '../api/schema'
import { aroundText, relative } from '../components/chart/moments'

export interface Span {
  readonly start: number
  readonly end: number
}

export interface ProofLink {
  readonly page: string
  readonly params: Record<string, string | null>
}

/** The stretch of a rank's time on the run's clock, from the run's begin; null where the proof has none. */
export function spanOf(proof: Proof, run: RunDetails): Span | null {
  if (proof.start_ns == null || proof.end_ns == null) return null
  const zero = zeroOf(proof.rank, run)
  return { start: relative(proof.start_ns, zero), end: relative(proof.end_ns, zero) }
}

/** The parameters that show a stretch of time on the timeline: chosen as the range, with room around it. */
export function stretchParams(rank: number, span: Span): Record<string, string | null> {
  const range = `${Math.round(span.start)}-${Math.round(span.end)}`
  return { rank: String(rank), step: null, t: aroundText(span.start, span.end), range }
}

/** The moment of a rank's own clock at which the run begins. */
export function zeroOf(rank: number, run: RunDetails): bigint {
  const offset = run.rank_list.find((one) => one.rank === rank)?.clock_offset_ns ?? '0'
  return BigInt(run.origin_ns) - BigInt(offset)
}

/** Page and parameters that show a proof: its stretch of time, else its slices, else the rank. */
export function proofLink(proof: Proof, finding: Finding, run: RunDetails): ProofLink {
  const rank = String(proof.rank)
  const step = finding.steps[0]
  // What is said about a group is seen among its calls; a link lies between ranks, of which none is chosen.
  if (proof.page === 'communication') {
    const { group } = finding.where
    return {
      page: proof.page,
      params: { rank: null, t: null, group: group ?? null, ...(group ? {} : partOf(finding)) },
    }
  }
  if (proof.page !== 'timeline') return { page: proof.page, params: { rank, t: null, ...tabOf(finding) } }
  const span = spanOf(proof, run)
  if (span) {
    const ranks = [proof.rank, ...companions(proof, span, finding, run)].join(',')
    return { page: 'timeline', params: { ...stretchParams(proof.rank, span), rank: ranks } }
  }
  const slices = proof.slices ?? []
  if (slices.length > 0) {
    const sel = slices.map((slice) => `${proof.rank}:${slice}`).join(',')
    return { page: 'timeline', params: { rank, step: null, t: null, sel } }
  }
  return { page: 'timeline', params: { rank, t: null, step: step === undefined ? null : String(step) } }
}

/** A rank that proves the other side of the same moment, such as one that waits for the slow one; at most one. */
function companions(proof: Proof, span: Span, finding: Finding, run: RunDetails): readonly number[] {
  const other = finding.proof.find((one) => {
    if (one.rank === proof.rank || one.page !== 'timeline') return false
    const theirs = spanOf(one, run)
    return theirs !== null && theirs.start < span.end && theirs.end > span.start
  })
  return other ? [other.rank] : []
}

/** The part of a long page that proves the finding. */
function partOf(finding: Finding): Record<string, string> {
  return finding.kind === 'slow_link' ? { at: 'links' } : {}
}

/** A page with tabs opens on the one that proves the finding. */
function tabOf(finding: Finding): Record<string, string> {
  return finding.kind === 'memory_leak' ? { tab: 'leaks' } : {}
}
