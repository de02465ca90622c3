// Rank × rank as numbers for a heat map: thousands of ranks are put together in blocks of neighbours.

export interface Cell {
  /** Rank of the row and of the column. */
  readonly row: number
  readonly column: number
  /** What is added up in a cell; with `per`, a cell is the sum of these over the sum of those. */
  readonly value: number
  readonly per?: number
}

export interface RankMatrix {
  /** Row by row; NaN where there is nothing. */
  readonly values: Float64Array
  /** The ranks of each row, and of each column. */
  readonly blocks: readonly (readonly number[])[]
}

/** As many rows and columns can be told apart on a screen. */
export const MOST_BLOCKS = 512

/** Cells in a square of these ranks, and of whatever other ranks the cells name; amounts add up, of kinds the first stands. */
export function matrixOf(
  cells: readonly Cell[],
  known: readonly number[],
  most = MOST_BLOCKS,
  together: 'sum' | 'first' = 'sum',
): RankMatrix {
  const named = new Set(known)
  for (const { row, column } of cells) named.add(row).add(column)
  const ranks = [...named].toSorted((a, b) => a - b)
  const size = Math.max(1, Math.ceil(ranks.length / most))
  const blocks = Array.from({ length: Math.ceil(ranks.length / size) }, (_, i) => ranks.slice(i * size, (i + 1) * size))
  const blockOf = new Map(blocks.flatMap((block, index) => block.map((rank) => [rank, index] as const)))
  const values = new Float64Array(blocks.length ** 2).fill(Number.NaN)
  const divisors = new Float64Array(blocks.length ** 2)
  for (const { row, column, value, per } of cells) {
    const at = (blockOf.get(row) ?? 0) * blocks.length + (blockOf.get(column) ?? 0)
    const before = values[at] ?? 0
    if (Number.isNaN(before)) values[at] = value
    else if (together === 'sum') values[at] = before + value
    divisors[at] = (divisors[at] ?? 0) + (per ?? 0)
  }
  for (let at = 0; at < values.length; at += 1) {
    const divisor = divisors[at] ?? 0
    if (divisor > 0) values[at] = (values[at] ?? 0) / divisor
  }
  return { values, blocks }
}

/** Numbers of the rows that an axis names, evenly spread: each where they fit, else the first of equal stretches. */
export function axisTicks(rows: number, most: number): number[] {
  const every = Math.max(1, Math.ceil(rows / most))
  return Array.from({ length: Math.ceil(rows / every) }, (_, i) => i * every)
}

/** Ranks in short: `0–3, 8`. */
export function rankRanges(ranks: readonly number[]): string {
  const stretches: [number, number][] = []
  for (const rank of ranks.toSorted((a, b) => a - b)) {
    const last = stretches.at(-1)
    if (last && rank <= last[1] + 1) last[1] = rank
    else stretches.push([rank, rank])
  }
  return stretches.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`)).join(', ')
}
