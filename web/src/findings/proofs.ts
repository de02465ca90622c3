// In which order the proofs of a finding are shown: first where the run has something to show.
import type { Finding, Proof, RunDetails } from '../api/schema'
import { hasRows, PAGES } from '../pages/registry'
import { proofLink, type ProofLink } from './links'

/** Proofs on pages with rows of their own come before those on pages that only repeat the finding. */
export function proofsOf(finding: Finding, run: RunDetails): readonly Proof[] {
  const bare = (proof: Proof): number => {
    const page = PAGES.find((one) => one.id === proof.page)
    return page && hasRows(page, run) ? 0 : 1
  }
  return finding.proof.toSorted((a, b) => bare(a) - bare(b))
}

/** Where the first proof is; null for a finding without any. */
export function firstProofLink(finding: Finding, run: RunDetails): ProofLink | null {
  const [proof] = proofsOf(finding, run)
  return proof ? proofLink(proof, finding, run) : null
}
