// Which pages a finding concerns; the navigation needs this before anything else of a finding.
import type { Finding } from '../api/schema'

/** Pages that show something of a finding: where it is proved and where its numbers stand. */
export function pagesOf(finding: Finding): ReadonlySet<string> {
  const linked = finding.evidence.flatMap((one) => (one.link ? [one.link] : []))
  return new Set([...finding.proof.map((one) => one.page), ...linked])
}
