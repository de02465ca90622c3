// The two sides of a comparison: what the address means.
import type { Query } from '../../api/client'
import type { Comparison, RunDetails } from '../../api/schema'
import type { Versus } from '../../router/versus'
import type { Scope } from '../../router/scope'

export interface SideA {
  readonly run: string
  /** Null means all ranks. */
  readonly ranks: readonly number[] | null
  readonly step: number | null
}

/** Side A is the run of the address with its scope and step; the first rank where two ranks of one run are compared. */
export function sideA(run: string, scope: Scope, isChosen: boolean, step: number | null, versus: Versus): SideA {
  if (isChosen && scope.kind !== 'all') return { run, ranks: scope.ranks, step }
  return { run, ranks: versus.run === run && versus.rank !== null ? scope.ranks.slice(0, 1) : null, step }
}

/** The query of `GET /api/compare`. */
export function compareQuery(a: SideA, b: Versus): Query {
  const ranksOfB = b.rank === null ? a.ranks : numbersOf(b.rank)
  return {
    a: a.run,
    b: b.run,
    rank_a: a.ranks,
    rank_b: ranksOfB,
    step_a: a.step,
    step_b: b.step ?? (b.run === a.run && b.rank === null ? null : a.step),
  }
}

/** Numbers of `0-2,7`. */
export function numbersOf(text: string): number[] {
  return text.split(',').flatMap((piece) => {
    const range = /^(\d+)(?:-(\d+))?$/.exec(piece.trim())
    if (!range) return []
    const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])]
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
  })
}

/** Numbers of the ranks of a run. */
export function ranksOf(run: Pick<RunDetails, 'rank_list'> | undefined): readonly number[] {
  return run?.rank_list.map((entry) => entry.rank) ?? []
}

export interface FallStep {
  readonly key: string
  /** From where to where the bar goes, as shares of the longest. */
  readonly from: number
  readonly to: number
  /** It begins where the axis does, which is not at zero. */
  readonly cut?: boolean
}

/** Bars of a waterfall: from A's period by one explanation after the other to B's. */
export function waterfall(data: Pick<Comparison, 'a' | 'b' | 'explained'>): readonly FallStep[] {
  const ends: number[] = [data.a.period_us]
  for (const entry of data.explained) ends.push((ends.at(-1) ?? 0) + entry.delta_us)
  const longest = Math.max(...ends, data.b.period_us, 1e-9)
  const least = Math.min(...ends, data.b.period_us)
  // Small differences of long steps would be hairlines: the axis begins where something happens.
  const base = least > 0.5 * longest ? Math.max(0, least - (longest - least) * 0.5) : 0
  const share = (value: number): number => (longest > base ? (value - base) / (longest - base) : 0)
  return [
    { key: 'a', from: 0, to: share(data.a.period_us), cut: base > 0 },
    ...data.explained.map((_, index) => ({
      key: `e${index}`,
      from: share(ends[index] ?? 0),
      to: share(ends[index + 1] ?? 0),
    })),
    { key: 'b', from: 0, to: share(data.b.period_us), cut: base > 0 },
  ]
}
