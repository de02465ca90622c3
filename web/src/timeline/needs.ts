// From what is on the screen to the blocks and counters whose tiles are needed.
import { rankSpan, visibleBoxes, type Frame, type PlacedBox } from './draw/frame'
import { blockOf, boxesBetween, hasRows } from './layout'
import { LANES_BLOCK } from './tiles/key'
import type { BlockNeed } from './tiles/plan'

/** How far above and below the window rows are fetched in advance, in CSS pixels. */
const AHEAD = 600

export function blockNeeds(frame: Frame): BlockNeed[] {
  const found = new Map<string, BlockNeed>()
  collect(frame, visibleBoxes(frame), 0, frame.height, false, found)
  const { layout, scrollTop } = frame
  const near = boxesBetween(layout.scrolled, scrollTop - AHEAD, scrollTop + frame.height + AHEAD)
  const placed = near.map((box) => ({ box, top: box.y - scrollTop + layout.pinnedHeight }))
  collect(frame, placed, -AHEAD, frame.height + AHEAD, true, found)
  // The minimap shows the lanes of the first rank.
  const first = frame.model.tracks.ranks[0]
  if (first?.has_lanes)
    add(found, { rank: first.rank, block: LANES_BLOCK, span: rankSpan(frame, first.rank), nearby: true })
  return [...found.values()]
}

/** Counters on the screen, as blocks named by their track. */
export function counterNeeds(frame: Frame): BlockNeed[] {
  return visibleBoxes(frame)
    .filter(({ box }) => box.kind === 'counter' && box.track)
    .map(({ box }) => ({
      rank: box.rank,
      block: box.track?.track ?? 0,
      span: rankSpan(frame, box.rank),
      nearby: false,
    }))
}

function collect(
  frame: Frame,
  boxes: readonly PlacedBox[],
  top: number,
  bottom: number,
  nearby: boolean,
  found: Map<string, BlockNeed>,
): void {
  for (const { box, top: boxTop } of boxes) {
    if (!hasRows(box)) continue
    const first = Math.max(0, Math.floor((top - boxTop) / box.rowHeight))
    const last = Math.min(box.rows - 1, Math.ceil((bottom - boxTop) / box.rowHeight))
    if (last < first) continue
    const span = rankSpan(frame, box.rank)
    const lowest = blockOf(box, box.firstRow + first)
    const highest = blockOf(box, box.firstRow + last)
    for (let block = lowest; block <= highest; block += 1) add(found, { rank: box.rank, block, span, nearby })
  }
}

function add(found: Map<string, BlockNeed>, need: BlockNeed): void {
  const key = `${need.rank}/${need.block}`
  if (!found.has(key)) found.set(key, need)
}
