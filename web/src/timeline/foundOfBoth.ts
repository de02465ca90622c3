// Hits of two runs as one list, in the order in which they are shown; at one moment those of A come first.
import type { SearchResult, SliceBrief } from '../api/schema'

/** `moved` is how far B is shown from where its clock has it, `limit` how many hits are listed. */
export function foundOfBoth(a: SearchResult, b: SearchResult, moved: number, limit: number): SearchResult {
  const ofB = new Set<SliceBrief>(b.hits)
  const shownAt = (hit: SliceBrief): number => hit.at_ns + (ofB.has(hit) ? moved : 0)
  const hits = [...a.hits, ...b.hits].toSorted((one, other) => shownAt(one) - shownAt(other)).slice(0, limit)
  const counts = new Map<string, number>()
  for (const { name, count } of [...a.names, ...b.names]) counts.set(name, (counts.get(name) ?? 0) + count)
  const names = [...counts].map(([name, count]) => ({ name, count })).toSorted((one, other) => other.count - one.count)
  return {
    total: a.total + b.total,
    names,
    names_total: Math.max(names.length, a.names_total, b.names_total),
    rows: [...a.rows, ...b.rows],
    // The map above the lanes is of A.
    ticks: a.ticks,
    hits,
    position: a.position === null || b.position === null ? null : a.position + b.position,
    next: !a.next || (b.next && b.next.at_ns + moved < a.next.at_ns) ? b.next : a.next,
    previous: !b.previous || (a.previous && a.previous.at_ns > b.previous.at_ns + moved) ? a.previous : b.previous,
  }
}

/** Where each side looks on from: the side of the present hit from there, the other from the moment at which it is shown. */
export function cursorsOf(
  current: SliceBrief | null,
  isB: boolean,
  moment: number,
  moved: number,
): readonly [Readonly<Record<string, number>>, Readonly<Record<string, number>>] {
  if (!current) return [{ at_ns: Math.max(0, moment) }, { at_ns: Math.max(0, moment - moved) }]
  const here = { current_rank: current.rank, current_slice: current.slice }
  // Of hits at one moment those of A come first: from B they lie behind.
  return isB
    ? [{ at_ns: Math.max(0, current.at_ns + moved + 1) }, here]
    : [here, { at_ns: Math.max(0, current.at_ns - moved) }]
}
