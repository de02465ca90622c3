// Colours of parts without a fixed meaning; after the first round they return paler, so that neighbours differ.
const CYCLE = ['--compute', '--overlap', '--data', '--communication', '--copy', '--warning', '--critical'] as const

/** Parts whose colour is the same on every page. */
const FIXED: Readonly<Record<string, string>> = {
  communication: '--communication',
  copy: '--copy',
  matmul: '--compute',
  other: '--idle',
}

export interface ItemColour {
  readonly color: string
  readonly opacity: number
}

/** Colours of categories: fixed ones first, the rest in order among the colours that are left. */
export function categoryColours(
  names: readonly string[],
  variable: (name: string) => string,
): ReadonlyMap<string, ItemColour> {
  const taken = new Set(names.map((name) => FIXED[name]).filter(Boolean))
  const free = CYCLE.filter((colour) => !taken.has(colour))
  let next = 0
  return new Map(
    names.map((name) => {
      const fixed = FIXED[name]
      if (fixed) return [name, { color: variable(fixed), opacity: 1 }] as const
      const round = Math.floor(next / free.length)
      const colour = free[next % free.length] ?? '--idle'
      next += 1
      return [name, { color: variable(colour), opacity: Math.max(0.35, 1 - round * 0.35) }] as const
    }),
  )
}
