// What is selected: slices, a range of time over some rows, or nothing. And how it is written into the address.
import type { RowRange } from '../api/timeline'
import type { Offsets } from './align'
import type { Span } from './view'

export interface SliceKey {
  readonly rank: number
  readonly slice: number
}

export interface RangeSelection extends Span {
  /** Empty means every row of the shown ranks. */
  readonly rows: readonly Required<RowRange>[]
}

export interface Selection {
  /** The last one is the one whose details are shown. */
  readonly slices: readonly SliceKey[]
  readonly range: RangeSelection | null
}

interface Placed {
  readonly rank: number
  readonly at_ns: number
  readonly dur_ns: number
}

/** At each end, in lengths of what is selected, and at least. */
const ROOM = 1.5
const LEAST_ROOM_NS = 1000

export const NOTHING: Selection = { slices: [], range: null }

/** Only the key is kept: what else is known of a slice does not belong to the selection. */
export function select({ rank, slice }: SliceKey): Selection {
  return { slices: [{ rank, slice }], range: null }
}

/** Add a slice, or take it out when it is in. */
export function extend(selection: Selection, slice: SliceKey): Selection {
  const rest = selection.slices.filter((other) => other.rank !== slice.rank || other.slice !== slice.slice)
  const slices = rest.length < selection.slices.length ? rest : [...rest, { rank: slice.rank, slice: slice.slice }]
  return { slices, range: selection.range }
}

/** The time in which slices lie, as far as their ranks are moved, with room at both ends. */
export function around(slices: readonly Placed[], offsets: Offsets): Span {
  const starts = slices.map((one) => one.at_ns + (offsets.get(one.rank) ?? 0))
  const ends = slices.map((one, index) => (starts[index] ?? 0) + one.dur_ns)
  const [start, end] = [Math.min(...starts), Math.max(...ends)]
  const room = Math.max((end - start) * ROOM, LEAST_ROOM_NS)
  return { start: start - room, end: end + room }
}

export function isSame(a: SliceKey, b: SliceKey): boolean {
  return a.rank === b.rank && a.slice === b.slice
}

export function selectionToParams(selection: Selection): Record<string, string | null> {
  const { range } = selection
  return {
    sel: selection.slices.map((one) => `${one.rank}:${one.slice}`).join(',') || null,
    range: range ? spanToText(range) : null,
    rows: range ? range.rows.map((row) => `${row.rank}:${row.first_row}-${row.last_row}`).join(',') || null : null,
  }
}

export function selectionFromParams(params: Readonly<Record<string, string>>): Selection {
  const slices = (params['sel'] ?? '').split(',').flatMap((piece): SliceKey[] => {
    const match = /^(\d+):(\d+)$/.exec(piece)
    return match ? [{ rank: Number(match[1]), slice: Number(match[2]) }] : []
  })
  const span = spanFromText(params['range'])
  if (!span) return { slices, range: null }
  const rows = (params['rows'] ?? '').split(',').flatMap((piece): Required<RowRange>[] => {
    const match = /^(\d+):(\d+)-(\d+)$/.exec(piece)
    return match ? [{ rank: Number(match[1]), first_row: Number(match[2]), last_row: Number(match[3]) }] : []
  })
  return { slices, range: { ...span, rows } }
}

/** `start-end` in whole nanoseconds relative to the run's origin; either may be negative. */
export function spanToText(span: Span): string {
  return `${Math.round(span.start)}-${Math.round(span.end)}`
}

export function spanFromText(text: string | undefined): Span | null {
  const match = /^(-?\d+)-(-?\d+)$/.exec(text ?? '')
  if (!match) return null
  const span = { start: Number(match[1]), end: Number(match[2]) }
  return span.end > span.start && Number.isSafeInteger(span.start) && Number.isSafeInteger(span.end) ? span : null
}
