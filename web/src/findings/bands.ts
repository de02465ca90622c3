// Where on the time axis the proofs of findings lie: stretches of the shown ranks, each leading to its stop of a tour.
import type { Finding, RunDetails } from '../api/schema'
import { spanFromText } from '../timeline/selection'
import { stopLink, stopsOf } from './tour'
import type { ProofLink } from './links'

export interface Band {
  readonly finding: Finding
  readonly rank: number
  readonly start: number
  readonly end: number
  readonly link: ProofLink
}

/** Only what accuses is marked; the most serious is drawn last, above the others. */
export function bandsOf(findings: readonly Finding[], run: RunDetails, ranks: readonly number[]): readonly Band[] {
  const bands = findings
    .filter((finding) => finding.severity !== 'info')
    .flatMap((finding) =>
      stopsOf(finding, run).flatMap(({ page, params }, stop): readonly Band[] => {
        const span = page === 'timeline' ? spanFromText(params['range'] ?? undefined) : null
        const rank = Number((params['rank'] ?? '').split(',')[0])
        const link = stopLink(finding, stop, run)
        return span && link && ranks.includes(rank) ? [{ finding, rank, ...span, link }] : []
      }),
    )
  return bands.toReversed()
}
