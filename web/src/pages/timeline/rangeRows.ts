// Which rows a dragged box covers, as the ranges the server counts over.
import type { RowRange } from '../../api/timeline'
import { boxesBetween, type Box, type Layout } from '../../timeline/layout'

/** Rows of tracks between two heights of the canvas; a box dragged over lanes or headings only means every row. */
export function rowsBetween(layout: Layout, scrollTop: number, top: number, bottom: number): Required<RowRange>[] {
  const found: Required<RowRange>[] = []
  const add = (boxes: readonly Box[], from: number, to: number): void => {
    for (const box of boxesBetween(boxes, from, to + 1e-9)) {
      if (box.kind !== 'track' || box.rows === 0) continue
      const first = Math.max(0, Math.floor((from - box.y) / box.rowHeight))
      const last = Math.min(box.rows - 1, Math.floor((to - box.y) / box.rowHeight))
      if (last < first) continue
      found.push({ rank: box.rank, first_row: box.firstRow + first, last_row: box.firstRow + last })
    }
  }
  if (top < layout.pinnedHeight) add(layout.pinned, top, Math.min(bottom, layout.pinnedHeight))
  if (bottom >= layout.pinnedHeight) {
    const shift = scrollTop - layout.pinnedHeight
    add(layout.scrolled, Math.max(top, layout.pinnedHeight) + shift, bottom + shift)
  }
  return found
}
