// Which tiles a frame wants: what is visible, the overview behind it, then what the next movement will need.
import type { Span } from '../view'
import { levelFor, overviewLevel, tileRange } from './key'
import type { Wanted } from './loader'

export interface BlockNeed {
  readonly rank: number
  readonly block: number
  /** The visible stretch on this rank's clock, its offset taken off. */
  readonly span: Span
  /** Near but outside the window: only fetched when all visible ones are there. */
  readonly nearby: boolean
}

/** Keys in the order in which they should arrive. */
export function wantedTiles(needs: readonly BlockNeed[], nsPerPixel: number, runLength: number): Wanted[] {
  const level = levelFor(nsPerPixel)
  const top = overviewLevel(runLength)
  const visible: Wanted[] = []
  const overview: Wanted[] = []
  const later: Wanted[] = []
  for (const need of needs) {
    const { rank, block } = need
    overview.push({ rank, block, level: top, index: 0, pinned: true })
    if (level >= top) continue
    const target = need.nearby ? later : visible
    const [first, last] = tileRange(need.span, level)
    for (let index = first; index <= last; index += 1) target.push({ rank, block, level, index })
    if (need.nearby) continue
    later.push({ rank, block, level, index: last + 1 }, { rank, block, level, index: first - 1 })
    // Two levels up covers the view when zooming out, and stands in after a fast zoom.
    if (level + 2 < top) {
      const [from, to] = tileRange(need.span, level + 2)
      for (let index = from; index <= to; index += 1) later.push({ rank, block, level: level + 2, index })
    }
  }
  // The overview is one small batch and the only thing that saves a fast zoom-out from a hole: it goes first.
  return [...overview, ...visible, ...later]
}

/** The level to draw with: never coarser than the overview. */
export function drawLevel(nsPerPixel: number, runLength: number): number {
  return Math.min(levelFor(nsPerPixel), overviewLevel(runLength))
}
