// A tour along the proofs of a finding: its stops in order. The address holds which finding and which stop.
import type { Finding, RunDetails } from '../api/schema'
import { proofLink, type ProofLink } from './links'
import { proofsOf } from './proofs'

/** Where a stop is; a stop beyond the last is the first again. */
export function stopLink(finding: Finding, stop: number, run: RunDetails): ProofLink | null {
  const proofs = proofsOf(finding, run)
  const count = proofs.length
  if (count === 0) return null
  const at = ((stop % count) + count) % count
  const proof = proofs[at]
  if (!proof) return null
  const { page, params } = proofLink(proof, finding, run)
  return { page, params: { ...params, tour: finding.id, stop: String(at) } }
}
