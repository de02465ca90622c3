// Ranks that findings accuse, for frames around them.
import type { Finding, RankFacts } from '../api/schema'
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

/** Where a rank stands in the plan: ranks that differ in `dp` alone do the same work. */
const PLACE = ['pp', 'tp', 'cp', 'ep'] as const
type Placed = Pick<RankFacts, 'rank' | (typeof PLACE)[number]>

/** The rank that the first finding accuses, and one that does the same work and is accused of nothing; null where none is. */
export function accusedAndPeer(findings: readonly Finding[], ranks: readonly Placed[]): readonly number[] | null {
  const recorded = (rank: number): boolean => ranks.some((one) => one.rank === rank)
  // Of a rank that was not recorded there is nothing to see.
  const all = accusing(findings, ranks.length).filter((one) => one.ranks.some(recorded))
  const [first] = all
  const accused = first?.ranks.find(recorded)
  if (!first || accused === undefined) return null
  // A link has two ends, which belong together.
  if (first.where.link != null && first.ranks.length === 2 && first.ranks.every(recorded)) return first.ranks
  const place = ranks.find((one) => one.rank === accused)
  const blamed = new Set(all.flatMap((one) => one.ranks))
  const proving = new Set(first.proof.map((one) => one.rank))
  const apart = (one: Placed): number => PLACE.findIndex((name) => one[name] !== place?.[name]) + 1 || PLACE.length + 1
  const peers = ranks
    .filter((one) => !blamed.has(one.rank))
    .toSorted(
      (a, b) => apart(b) - apart(a) || Number(proving.has(b.rank)) - Number(proving.has(a.rank)) || a.rank - b.rank,
    )
  return [accused, ...peers.slice(0, 1).map((one) => one.rank)]
}
