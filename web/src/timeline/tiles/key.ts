// Which tile covers what. A tile is 1024 bins of 2^level ns by 16 rows; its key never contains the scroll position.
import type { Span } from '../view'

export const BINS = 1024
export const ROWS_PER_BLOCK = 16
export const LANES_BLOCK = -1
export const HIGHEST_LEVEL = 50

export interface TileKey {
  readonly rank: number
  /** Block of 16 rows, -1 for the merged lanes; for counters the track. */
  readonly block: number
  readonly level: number
  readonly index: number
}

export const keyText = (rank: number, block: number, level: number, index: number): string =>
  `${rank}/${block}/${level}/${index}`

export const textOf = (key: TileKey): string => keyText(key.rank, key.block, key.level, key.index)

/** The level whose bins are at most one pixel wide. */
export function levelFor(nsPerPixel: number): number {
  const level = Math.floor(Math.log2(Math.max(1, nsPerPixel)))
  return Math.min(HIGHEST_LEVEL, Math.max(0, level))
}

/** The finest level at which tile 0 covers the whole run, its last moment included. */
export function overviewLevel(runLength: number): number {
  // Counted, not computed: a logarithm rounds just where it matters.
  let level = 0
  while (level < HIGHEST_LEVEL && tileLength(level) <= runLength) level += 1
  return level
}

export function tileLength(level: number): number {
  return BINS * 2 ** level
}

/** First and last tile of a level that a stretch of time touches. */
export function tileRange(span: Span, level: number): readonly [number, number] {
  const length = tileLength(level)
  const first = Math.floor(span.start / length)
  return [first, Math.max(first, Math.ceil(span.end / length) - 1)]
}

export function spanOf(level: number, index: number): Span {
  const length = tileLength(level)
  return { start: index * length, end: (index + 1) * length }
}
