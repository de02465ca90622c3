// Ranks that findings accuse, for frames around them.
import type { Finding } from '../api/schema'
import { SEVERITY_COLOUR } from './severity'

/** What accuses single ranks; a finding about most of the job singles out none. */
export function accusing(findings: readonly Finding[], ranks: number): readonly Finding[] {
  return findings.filter((one) => one.severity !== 'info' && one.ranks.length <= ranks / 2)
}

/**
 * The CSS variable of the frame of each accused rank. The most serious comes first in the list: its colour stays. A
 * finding about a group as a whole frames none of its members, or the one rank that is to blame would not stand out.
 */
export function framesOf(accused: readonly Finding[]): ReadonlyMap<number, string> {
  return new Map(
    accused
      .filter((one) => one.where.group == null)
      .toReversed()
      .flatMap((one) => one.ranks.map((rank) => [rank, SEVERITY_COLOUR[one.severity]] as const)),
  )
}
