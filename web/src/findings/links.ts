// Where a finding can be seen: the address of its proof.
import type { Finding, Proof, RunDetails } from '../api/schema'
import { aroundText, relative } from '../components/chart/moments'

export interface ProofLink {
  readonly page: string
  readonly params: Record<string, string | null>
}

/** The stretch of a rank's time on the run's clock, from the run's begin; null where the proof has none. */
export function spanOf(proof: Proof, run: RunDetails): { readonly start: number; readonly end: number } | null {
  if (proof.start_ns == null || proof.end_ns == null) return null
  const offset = run.rank_list.find((one) => one.rank === proof.rank)?.clock_offset_ns ?? '0'
  const zero = BigInt(run.origin_ns) - BigInt(offset)
  return { start: relative(proof.start_ns, zero), end: relative(proof.end_ns, zero) }
}

/** Page and parameters that show a proof: its stretch of time, else its slices, else the rank. */
export function proofLink(proof: Proof, finding: Finding, run: RunDetails): ProofLink {
  const rank = String(proof.rank)
  const step = finding.steps[0]
  if (proof.page !== 'timeline') return { page: proof.page, params: { rank, t: null, ...tabOf(finding) } }
  const span = spanOf(proof, run)
  if (span) {
    const range = `${Math.round(span.start)}-${Math.round(span.end)}`
    return { page: 'timeline', params: { rank, step: null, t: aroundText(span.start, span.end), range } }
  }
  const slices = proof.slices ?? []
  if (slices.length > 0) {
    const sel = slices.map((slice) => `${proof.rank}:${slice}`).join(',')
    return { page: 'timeline', params: { rank, step: null, t: null, sel } }
  }
  return { page: 'timeline', params: { rank, t: null, step: step === undefined ? null : String(step) } }
}

/** Pages that show something of a finding: where it is proved and where its numbers stand. */
export function pagesOf(finding: Finding): ReadonlySet<string> {
  const linked = finding.evidence.flatMap((one) => (one.link ? [one.link] : []))
  return new Set([...finding.proof.map((one) => one.page), ...linked])
}

/** A page with tabs opens on the one that proves the finding. */
function tabOf(finding: Finding): Record<string, string> {
  return finding.kind === 'memory_leak' ? { tab: 'leaks' } : {}
}
