// Which ranks an address means: `0-7,317`, `dp:3`, `host:a`, `slow:8`, `all`, and lists of these. The one place that reads and writes it.
import type { RankFacts } from '../api/schema'

export const DIMENSIONS = ['dp', 'tp', 'pp', 'ep', 'cp'] as const
export type Dimension = (typeof DIMENSIONS)[number]

type Placed = Pick<RankFacts, 'rank' | 'host' | Dimension>

export interface ScopeContext {
  readonly ranks: readonly Placed[]
  /** Ranks with how much each holds up the others, the worst first; undefined until that is known. */
  readonly slowest?: readonly number[] | undefined
}

export interface Scope {
  readonly kind: 'all' | 'set' | 'one'
  /** In the order written, each once: the first is the rank of pages that show one. Those of `slow:8` come worst first. */
  readonly ranks: readonly number[]
  /** Pieces that mean no rank of this run. */
  readonly unknown: readonly string[]
  /** Whether a piece such as `slow:8` waits for an answer that is not there yet. */
  readonly pending: boolean
}

/** Read a scope; the empty text means all ranks. */
export function parseScope(text: string | undefined, context: ScopeContext): Scope {
  const known = context.ranks.map((one) => one.rank)
  const pieces = (text ?? '').split(',').filter((piece) => piece.trim() !== '')
  if (pieces.length === 0) return scopeOf(known, known, [], false)
  const ranks: number[] = []
  const unknown: string[] = []
  let pending = false
  for (const piece of pieces.map((one) => one.trim())) {
    const meant = ranksOf(piece, context)
    if (meant === 'pending') pending = true
    else if (meant.length === 0) unknown.push(piece)
    else ranks.push(...meant)
  }
  return scopeOf([...new Set(ranks)], known, unknown, pending)
}

/** Write ranks the short way: `0-7,317`; all of a run's ranks are `all`. */
export function formatScope(ranks: readonly number[], known: readonly number[]): string {
  const sorted = [...new Set(ranks)].toSorted((a, b) => a - b)
  if (known.length > 1 && sorted.length === known.length) return 'all'
  const ranges: [number, number][] = []
  for (const rank of sorted) {
    const last = ranges.at(-1)
    if (last && rank === last[1] + 1) last[1] = rank
    else ranges.push([rank, rank])
  }
  return ranges
    .map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from},${to}` : `${from}-${to}`))
    .join(',')
}

function scopeOf(
  ranks: readonly number[],
  known: readonly number[],
  unknown: readonly string[],
  pending: boolean,
): Scope {
  const kind = ranks.length === known.length && known.length !== 1 ? 'all' : ranks.length === 1 ? 'one' : 'set'
  return { kind, ranks, unknown, pending }
}

/** The ranks that one piece means: none where it means nothing here. */
function ranksOf(piece: string, { ranks, slowest }: ScopeContext): readonly number[] | 'pending' {
  const known = ranks.map((one) => one.rank)
  if (piece === 'all') return known
  const range = /^(\d+)(?:-(\d+))?$/.exec(piece)
  if (range) {
    const from = Number(range[1])
    const to = Number(range[2] ?? range[1])
    return known.filter((rank) => rank >= from && rank <= to)
  }
  const cut = piece.indexOf(':')
  if (cut < 0) return []
  const name = piece.slice(0, cut)
  const value = piece.slice(cut + 1)
  if (name === 'host') return ranks.filter((one) => one.host === value).map((one) => one.rank)
  if (name === 'slow') {
    if (!/^\d+$/.test(value)) return []
    return slowest === undefined ? 'pending' : slowest.slice(0, Number(value))
  }
  const dimension = DIMENSIONS.find((one) => one === name)
  return dimension && /^\d+$/.test(value)
    ? ranks.filter((one) => one[dimension] === Number(value)).map((one) => one.rank)
    : []
}
