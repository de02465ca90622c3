// Which rows a dragged box covers, as the ranges the server counts over: whole tracks, never a part of one.
import type { RowRange } from '../../api/timeline'
import { regionsOf, type Frame } from '../../timeline/draw/frame'

/** All rows of the tracks between two heights of the canvas; a box dragged over lanes or headings only means every row. */
export function rowsBetween(
  frame: Pick<Frame, 'layout' | 'scrollTop' | 'height'>,
  top: number,
  bottom: number,
): Required<RowRange>[] {
  const { pinned, head, scrolled } = regionsOf(frame)
  return [pinned, head, { ...scrolled, top: head.bottom }].flatMap((region) => {
    const from = Math.max(top, region.top)
    const to = Math.min(bottom, region.bottom)
    return region.boxes.flatMap(({ box, top: boxTop }): Required<RowRange>[] => {
      const touched = from < to && box.kind === 'track' && box.rows > 0 && boxTop < to && boxTop + box.height > from
      return touched ? [{ rank: box.rank, first_row: box.firstRow, last_row: box.firstRow + box.rows - 1 }] : []
    })
  })
}
