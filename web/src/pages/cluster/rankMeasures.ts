// What can be shown of each rank, and how ranks are laid out in a grid.
import { bytes, durationUs, rate, share } from '../../format/units'
import type { RankRow } from '../../api/schema'
import type { PlainKey } from '../../i18n/language.svelte'

export type MeasureId =
  | 'deviation_share'
  | 'period_us'
  | 'computing_us'
  | 'exposed_communication_us'
  | 'idle_us'
  | 'wait_us'
  | 'caused_wait_us'
  | 'delay_us'
  | 'flops_per_s'
  | 'peak_memory_bytes'

export interface RankMeasure {
  readonly id: MeasureId
  readonly title: PlainKey
  readonly text: (value: number | null) => string
}

export const RANK_MEASURES: readonly RankMeasure[] = [
  { id: 'deviation_share', title: 'cluster.deviation', text: share },
  { id: 'period_us', title: 'steps.period', text: durationUs },
  { id: 'computing_us', title: 'steps.computing', text: durationUs },
  { id: 'exposed_communication_us', title: 'steps.exposed_communication', text: durationUs },
  { id: 'idle_us', title: 'steps.idle', text: durationUs },
  { id: 'wait_us', title: 'cluster.rank_wait', text: durationUs },
  { id: 'caused_wait_us', title: 'cluster.caused_wait', text: durationUs },
  { id: 'delay_us', title: 'cluster.delay', text: durationUs },
  { id: 'flops_per_s', title: 'cluster.flops', text: (value) => rate(value, 'FLOP/s') },
  { id: 'peak_memory_bytes', title: 'cluster.memory', text: bytes },
]

/** Measures that some rank has. */
export function knownMeasures(rows: readonly RankRow[]): readonly RankMeasure[] {
  return RANK_MEASURES.filter((measure) => rows.some((row) => row[measure.id] !== null))
}

/** The largest first; ranks without a value last. */
export function byMeasure(rows: readonly RankRow[], id: MeasureId): readonly RankRow[] {
  return rows.toSorted((a, b) => (b[id] ?? -Infinity) - (a[id] ?? -Infinity) || a.rank - b.rank)
}

export const COORDINATES = ['dp', 'tp', 'pp', 'ep', 'cp'] as const
export type Coordinate = (typeof COORDINATES)[number]
export type Arrangement = 'measure' | 'rank' | 'host' | Coordinate

export interface RankGrid {
  /** Ranks row by row; null where a row is shorter than the longest. */
  readonly cells: readonly (RankRow | null)[]
  readonly columns: number
  /** Name of each row; null where rows mean nothing. */
  readonly names: readonly string[] | null
}

/** Widest grid of ranks that are not laid out by a part of the job. */
const WIDEST = 64
/** More rows than this are too flat to be told apart. */
const MOST_LINES = 24
/** So few stand in one line; more make a grid, whose cells are wide enough for their numbers. */
const ONE_LINE = 16
const FLAT = { most: 64, form: 3 }
const FORM = 1.3

function columnsOf(ranks: number): number {
  if (ranks <= ONE_LINE) return Math.max(1, ranks)
  return Math.min(WIDEST, Math.ceil(Math.sqrt(ranks * (ranks <= FLAT.most ? FLAT.form : FORM))))
}

/** Ranks in rows: by host or by their index in a dimension, else one after the other. */
export function rankGrid(rows: readonly RankRow[], arrangement: Arrangement, measure: MeasureId): RankGrid {
  if (arrangement === 'measure' || arrangement === 'rank') {
    const ordered = arrangement === 'measure' ? byMeasure(rows, measure) : rows.toSorted((a, b) => a.rank - b.rank)
    const columns = columnsOf(rows.length)
    return { cells: padded(ordered, columns), columns, names: null }
  }
  const lines = new Map<string, RankRow[]>()
  for (const row of rows) {
    const key = String((arrangement === 'host' ? row.host : row[arrangement]) ?? '–')
    lines.set(key, [...(lines.get(key) ?? []), row])
  }
  const ordered = [...lines].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
  const wide = Math.max(1, ...ordered.map(([, own]) => own.length))
  const together = besideEachOther(ordered.length, wide)
  const columns = wide * together
  const cells = ordered.flatMap(([, own]) =>
    padded(
      own.toSorted((a, b) => a.rank - b.rank),
      wide,
    ),
  )
  const names = Array.from({ length: Math.ceil(ordered.length / together) }, (_, row) => {
    const [first, last] = [ordered[row * together], ordered[Math.min(ordered.length, (row + 1) * together) - 1]]
    return first === last || !last ? (first?.[0] ?? '') : `${first?.[0]} – ${last[0]}`
  })
  return { cells: padded(cells, columns), columns, names }
}

/** How many hosts, or lines of a dimension, stand in one row: so many that the cells of a hundred of them can be seen. */
function besideEachOther(lines: number, wide: number): number {
  const least = Math.ceil(lines / MOST_LINES)
  const most = Math.floor(WIDEST / wide)
  if (least >= most) return Math.max(1, most)
  for (let number = least; number <= most; number += 1) if (lines % number === 0) return number
  return least
}

function padded(rows: readonly (RankRow | null)[], columns: number): (RankRow | null)[] {
  const missing = (columns - (rows.length % columns)) % columns
  return [...rows, ...Array<null>(missing).fill(null)]
}
