// Colours of categories of device work; after the first round they return paler, so that neighbours differ.
import { SERIES_COLOURS } from '../../components/chart/seriesColour'

/** Categories whose colour is the same on every page. */
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

/** Colours of categories: fixed ones first, the rest in order among those without a meaning. */
export function categoryColours(
  names: readonly string[],
  variable: (name: string) => string,
): ReadonlyMap<string, ItemColour> {
  let next = 0
  return new Map(
    names.map((name) => {
      const fixed = FIXED[name]
      if (fixed) return [name, { color: variable(fixed), opacity: 1 }] as const
      const round = Math.floor(next / SERIES_COLOURS.length)
      const colour = SERIES_COLOURS[next % SERIES_COLOURS.length] ?? '--idle'
      next += 1
      return [name, { color: variable(colour), opacity: Math.max(0.35, 1 - round * 0.35) }] as const
    }),
  )
}
