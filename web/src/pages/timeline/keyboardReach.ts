// Slices by keyboard alone: Enter takes one of the first row in sight, Page Up and Page Down go from row to row.
import { visibleBoxes } from '../../timeline/draw/frame'
import { hitTest, type Hit } from '../../timeline/hit'
import { blockOf } from '../../timeline/layout'
import { select } from '../../timeline/selection'
import { drawLevel } from '../../timeline/tiles/plan'
import type { TimelineStore } from './store.svelte'

interface Row {
  readonly rank: number
  readonly row: number
  readonly top: number
}

/** Select the slice nearest to the middle of the window on the first row that has one in sight. */
export function enterRow(store: TimelineStore): void {
  const middle = (store.view.start + store.view.end) / 2
  for (const row of rowsInSight(store)) if (take(store, row, middle)) return
}

/** Go to the next row in sight that has a slice near the selected one. */
export function walkRows(store: TimelineStore, by: 1 | -1): void {
  const from = placeOfSelection(store)
  if (!from) return enterRow(store)
  const rows = rowsInSight(store)
  const at = rows.findIndex((one) => one.rank === from.rank && one.row === from.row)
  const rest = by > 0 ? rows.slice(at + 1) : rows.slice(0, Math.max(0, at)).toReversed()
  for (const row of rest) if (take(store, row, from.moment)) return
}

/** Where the selected slice lies: as far as its details are known, else where the keys found it. */
function placeOfSelection(store: TimelineStore): { rank: number; row: number; moment: number } | null {
  const { current } = store
  if (!current) return store.selection.slices.length > 0 ? store.reached : null
  const { rank, row, at_ns, dur_ns } = current
  return { rank, row, moment: at_ns + dur_ns / 2 + (store.offsets.get(rank) ?? 0) }
}

function rowsInSight(store: TimelineStore): readonly Row[] {
  const rows = visibleBoxes(store).flatMap(({ box, top }): Row[] =>
    box.kind === 'track'
      ? Array.from({ length: box.rows }, (_, line) => ({
          rank: box.rank,
          row: box.firstRow + line,
          top: top + line * box.rowHeight,
        }))
      : [],
  )
  return rows.filter((row) => row.top < store.height).toSorted((a, b) => a.top - b.top)
}

function take(store: TimelineStore, { rank, row }: Row, moment: number): boolean {
  const hit = nearest(store, rank, row, moment)
  if (!hit) return false
  store.selection = select({ rank, slice: hit.id })
  store.selected = []
  store.drawer = 'details'
  store.reached = { rank, row, moment: (hit.start + hit.end) / 2 + (store.offsets.get(rank) ?? 0) }
  return true
}

function nearest(store: TimelineStore, rank: number, row: number, moment: number): Hit | null {
  const offset = store.offsets.get(rank) ?? 0
  const box = visibleBoxes(store).find(
    (one) =>
      one.box.kind === 'track' &&
      one.box.rank === rank &&
      row >= one.box.firstRow &&
      row < one.box.firstRow + one.box.rows,
  )?.box
  if (!box) return null
  const level = drawLevel(store.view.nsPerPixel, store.model?.length ?? 1)
  const half = (store.view.end - store.view.start) / 2
  const hit = hitTest(store.tiles, rank, blockOf(box, row), row, level, moment - offset, half)
  return hit && hit.end + offset > store.view.start && hit.start + offset < store.view.end ? hit : null
}
