// Offsets per rank: how far the user moved a rank against the run's clock, so that two slices stand under each other.

export type Offsets = ReadonlyMap<number, number>

export interface Anchor {
  readonly rank: number
  readonly slice: number
  readonly name: string
  readonly at_ns: number
  readonly dur_ns: number
}

/** Offset that puts an edge of `slice` where the same edge of `reference` is drawn now. */
export function aligned(offsets: Offsets, reference: Anchor, slice: Anchor, edge: 'left' | 'right'): Offsets {
  if (slice.rank === reference.rank) return offsets
  const edgeOf = (anchor: Anchor): number => anchor.at_ns + (edge === 'right' ? anchor.dur_ns : 0)
  const target = edgeOf(reference) + offsetOf(offsets, reference.rank)
  return withOffset(offsets, slice.rank, target - edgeOf(slice))
}

export function offsetOf(offsets: Offsets, rank: number): number {
  return offsets.get(rank) ?? 0
}

export function withOffset(offsets: Offsets, rank: number, ns: number): Offsets {
  const next = new Map(offsets)
  if (Math.round(ns) === 0) next.delete(rank)
  else next.set(rank, Math.round(ns))
  return next
}

/** Every rank moved so that the same step starts where it starts on the first rank that has it. */
export function alignedByStep(starts: ReadonlyMap<number, number>): Offsets {
  const first = [...starts.values()][0]
  if (first === undefined) return new Map()
  let offsets: Offsets = new Map()
  for (const [rank, start] of starts) offsets = withOffset(offsets, rank, first - start)
  return offsets
}

export function offsetsToText(offsets: Offsets): string | null {
  if (offsets.size === 0) return null
  return [...offsets].map(([rank, ns]) => `${rank}:${ns}`).join(',')
}

export function offsetsFromText(text: string | undefined): Offsets {
  const found = new Map<number, number>()
  for (const piece of (text ?? '').split(',')) {
    const match = /^(\d+):(-?\d+)$/.exec(piece)
    if (match) found.set(Number(match[1]), Number(match[2]))
  }
  return found
}
