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
  readonly rows: readonly (readonly number[])[]
  readonly columns: readonly (readonly number[])[]
}

/** As many rows and columns can be told apart on a screen, with a cell of some pixels each. */
export const MOST_BLOCKS = 128

/** Ranks of rows and of columns. */
export interface Sides {
  readonly rows: readonly number[]
  readonly columns: readonly number[]
}

/** Captured ranks have rows; columns also those that were not captured, which others name. */
export function sidesOf(cells: readonly Cell[], captured: readonly number[]): Sides {
  const rows = [...new Set([...captured, ...cells.map((cell) => cell.row)])]
  const columns = [...new Set([...rows, ...cells.map((cell) => cell.column)])]
  return { rows: rows.toSorted((a, b) => a - b), columns: columns.toSorted((a, b) => a - b) }
}

/** Cells of these ranks; amounts add up, of kinds the first stands. Other ranks are left out. */
export function matrixOf(
  cells: readonly Cell[],
  sides: Sides,
  most = MOST_BLOCKS,
  together: 'sum' | 'first' = 'sum',
): RankMatrix {
  const [rows, columns] = [blocksOf(sides.rows, most), blocksOf(sides.columns, most)]
  const [rowOf, columnOf] = [placesOf(rows), placesOf(columns)]
  const values = new Float64Array(rows.length * columns.length).fill(Number.NaN)
  const divisors = new Float64Array(values.length)
  for (const { row, column, value, per } of cells) {
    const [y, x] = [rowOf.get(row), columnOf.get(column)]
    if (y === undefined || x === undefined) continue
    const at = y * columns.length + x
    const before = values[at] ?? 0
    if (Number.isNaN(before)) values[at] = value
    else if (together === 'sum') values[at] = before + value
    divisors[at] = (divisors[at] ?? 0) + (per ?? 0)
  }
  for (let at = 0; at < values.length; at += 1) {
    const divisor = divisors[at] ?? 0
    if (divisor > 0) values[at] = (values[at] ?? 0) / divisor
  }
  return { values, rows, columns }
}

/** Ranks in as many equal stretches of neighbours as there may be. */
function blocksOf(ranks: readonly number[], most: number): readonly (readonly number[])[] {
  const size = Math.max(1, Math.ceil(ranks.length / most))
  return Array.from({ length: Math.ceil(ranks.length / size) }, (_, i) => ranks.slice(i * size, (i + 1) * size))
}

/** The block of each rank. */
export function placesOf(blocks: readonly (readonly number[])[]): ReadonlyMap<number, number> {
  return new Map(blocks.flatMap((block, index) => block.map((rank) => [rank, index] as const)))
}

/** Numbers of the rows that an axis names, evenly spread: each where they fit, else the first of equal stretches. */
export function axisTicks(rows: number, most: number): number[] {
  const every = Math.max(1, Math.ceil(rows / most))
  return Array.from({ length: Math.ceil(rows / every) }, (_, i) => i * every)
}

export interface Tick {
  /** The row or column it stands beside. */
  readonly at: number
  readonly rank: number
  /** The CSS variable of a rank that findings accuse. */
  readonly colour: string | null
}

/** What an axis says: ranks that are accused, and of the others as many as keep clear of them. */
export function rankTicks(
  blocks: readonly (readonly number[])[],
  frames: ReadonlyMap<number, string>,
  most: number,
): readonly Tick[] {
  const apart = blocks.length / most
  const accused: Tick[] = []
  for (const [at, block] of blocks.entries()) {
    const rank = block.find((one) => frames.has(one))
    const last = accused.at(-1)
    if (rank !== undefined && (last === undefined || at - last.at >= apart))
      accused.push({ at, rank, colour: frames.get(rank) ?? null })
  }
  const others = axisTicks(blocks.length, most)
    .filter((at) => accused.every((one) => Math.abs(one.at - at) >= apart))
    .map((at): Tick => ({ at, rank: blocks[at]?.[0] ?? 0, colour: null }))
  return [...accused, ...others]
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
