// Two runs on one timeline: ranks of side B are numbered from SIDE_B, beyond all ranks of side A, so that everything that
// knows ranks knows them too.

export const SIDE_B = 1 << 24

export const isSideB = (rank: number): boolean => rank >= SIDE_B

/** The number that the rank has in its own run. */
export const ownRank = (rank: number): number => (isSideB(rank) ? rank - SIDE_B : rank)

/** An answer of side B with its ranks numbered as on this timeline. */
export function asSideB<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one) => asSideB<unknown>(one)) as T
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([name, one]): [string, unknown] =>
    name === 'rank' && typeof one === 'number' ? [name, one + SIDE_B] : [name, asSideB<unknown>(one)],
  )
  return Object.fromEntries(entries) as T
}

interface Ranked {
  readonly rank: number
}

/** Items of each side with the ranks of their own runs, and where each stood. */
export function bySide<T extends Ranked>(items: readonly T[]): { side: 'a' | 'b'; items: T[]; places: number[] }[] {
  const parts = { a: { items: [] as T[], places: [] as number[] }, b: { items: [] as T[], places: [] as number[] } }
  items.forEach((item, place) => {
    const part = isSideB(item.rank) ? parts.b : parts.a
    part.items.push({ ...item, rank: ownRank(item.rank) })
    part.places.push(place)
  })
  return (['a', 'b'] as const).filter((side) => parts[side].items.length > 0).map((side) => ({ side, ...parts[side] }))
}

interface Marked {
  readonly step: number
  readonly start: number
}

/** How far B moves so that its step begins where A's does; the first step that both have where none is named. */
export function alignment(
  a: readonly Marked[],
  b: readonly Marked[],
  stepA: number | null,
  stepB: number | null,
): number {
  const first = a.find((one) => b.some((other) => other.step === one.step)) ?? a[0]
  const ofA = a.find((one) => one.step === stepA) ?? first
  const ofB = b.find((one) => one.step === (stepB ?? ofA?.step)) ?? b[0]
  return ofA && ofB ? ofA.start - ofB.start : 0
}
