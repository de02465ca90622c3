// A tour along the proofs of a finding: its stops in order. The address holds which finding and which stop.
import type { Finding, RunDetails } from '../api/schema'
import { proofLink, type ProofLink } from './links'
import { proofsOf } from './proofs'

/** The stops in order: both ends of a link are proved by the same view, which is one stop. */
export function stopsOf(finding: Finding, run: RunDetails): readonly ProofLink[] {
  const links = proofsOf(finding, run).map((proof) => proofLink(proof, finding, run))
  const views = links.map((link) => JSON.stringify(link))
  return links.filter((_, index) => views.indexOf(views[index] ?? '') === index)
}

/** Where a stop is; a stop beyond the last is the first again. */
export function stopLink(finding: Finding, stop: number, run: RunDetails): ProofLink | null {
  const stops = stopsOf(finding, run)
  const at = ((stop % stops.length) + stops.length) % stops.length
  const link = stops[at]
  return link ? { page: link.page, params: { ...link.params, tour: finding.id, stop: String(at) } } : null
}
