// Where the cells of a result lead: its ranks, slices, steps and moments are places on the timeline.
import type { Row } from '../../api/documents'
import { aroundText, relative, type Absolute } from '../../components/chart/moments'
import { router } from '../../router/router.svelte'

const integer = (value: unknown): number | null =>
  (typeof value === 'number' && Number.isInteger(value)) || (typeof value === 'string' && /^\d+$/.test(value))
    ? Number(value)
    : null

export interface Place {
  /** The only rank of a run: results need not name it. */
  readonly onlyRank: number | null
  readonly originNs: bigint
}

/** The link of a cell; null where its column says nothing of the timeline. */
export function cellLink(column: string, row: Row, place: Place): string | null {
  const rank = integer(row['rank']) ?? place.onlyRank
  if (rank === null || row[column] === null || row[column] === undefined) return null
  const at = stretch(row, place)
  if (column === 'rank') return router.href('timeline', { rank: String(rank), ...(at ? { t: at } : {}) })
  if (column === 'step' && integer(row['step']) !== null)
    return router.href('timeline', { rank: String(rank), step: String(row['step']), t: null })
  const slice = integer(row['slice'])
  if (column === 'slice' && slice !== null)
    return router.href('timeline', { rank: String(rank), sel: `${rank}:${slice}`, t: at })
  if (column === 'start_ns' && at) return router.href('timeline', { rank: String(rank), t: at })
  return null
}

/** The stretch of time around a row that says when it began and how long it took. */
function stretch(row: Row, place: Place): string | null {
  const start = row['start_ns']
  const length = integer(row['dur_ns'])
  if ((typeof start !== 'string' && typeof start !== 'number') || length === null) return null
  const from = relative(start as Absolute, place.originNs)
  return aroundText(from, from + length, 2)
}

/** Whether the rows of a result can be drawn as slices: they say when they begin and how long they take. */
export function isTrack(columns: readonly { readonly name: string }[]): boolean {
  const names = new Set(columns.map((column) => column.name))
  return names.has('start_ns') && names.has('dur_ns')
}
