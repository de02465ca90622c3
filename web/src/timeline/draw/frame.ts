// Everything one frame is drawn from.
import type { Offsets } from '../align'
import { boxesBetween, sectionAt, type Box, type Layout, type Section } from '../layout'
import type { RunModel } from '../model'
import type { QueryTrack } from '../queryTrack'
import type { CanvasTheme } from '../theme'
import type { TileCache } from '../tiles/cache'
import type { CounterTile, Tile } from '../tiles/codec'
import type { Span, TimeView } from '../view'

export interface Frame {
  /** CSS pixels of the canvas. */
  readonly width: number
  readonly height: number
  /** Device pixels per CSS pixel. */
  readonly ratio: number
  readonly view: TimeView
  readonly layout: Layout
  readonly scrollTop: number
  readonly offsets: Offsets
  readonly model: RunModel
  readonly theme: CanvasTheme
  readonly tiles: TileCache<Tile>
  readonly counters: TileCache<CounterTile>
  readonly level: number
  readonly colourBy: 'name' | 'kind'
  readonly query: QueryTrack | null
}

export interface PlacedBox {
  readonly box: Box
  /** Top on the canvas. */
  readonly top: number
}

/** A part of the canvas with boxes of its own; later ones lie above earlier ones. */
export interface Region {
  readonly boxes: readonly PlacedBox[]
  readonly top: number
  readonly bottom: number
}

type Scrolled = Pick<Frame, 'layout' | 'scrollTop' | 'height'>

export interface Regions {
  readonly scrolled: Region
  /** The strip and lanes of the rank whose tracks scroll by; empty where they stand in their place. */
  readonly head: Region
  readonly pinned: Region
}

/** What is on the screen: pinned boxes, below them the scrolled ones, and the head of the rank that is scrolled. */
export function regionsOf({ layout, scrollTop, height }: Scrolled): Regions {
  const top = Math.min(layout.pinnedHeight, height)
  const shift = layout.pinnedHeight - scrollTop
  const placed = (boxes: readonly Box[]): PlacedBox[] => boxes.map((box) => ({ box, top: box.y + shift }))
  const pinned = layout.pinned.map((box) => ({ box, top: box.y }))
  const room = Math.max(0, height - layout.pinnedHeight)
  const section = sectionAt(layout.sections, scrollTop)
  const scrolled = boxesBetween(layout.scrolled, scrollTop, scrollTop + room)
  return {
    pinned: { boxes: pinned, top: 0, bottom: top },
    head: headOf(layout, section, scrollTop, top),
    scrolled: { boxes: placed(scrolled), top, bottom: height },
  }
}

function headOf(layout: Layout, section: Section | null, scrollTop: number, top: number): Region {
  if (!section || section.headBoxes === 0 || scrollTop <= section.y) return { boxes: [], top, bottom: top }
  // The next rank pushes the head out.
  const pushed = Math.min(0, section.end - scrollTop - section.headHeight)
  const boxes = layout.scrolled
    .slice(section.firstBox, section.firstBox + section.headBoxes)
    .map((box) => ({ box, top: box.y - section.y + pushed + top }))
  return { boxes, top, bottom: top + section.headHeight + pushed }
}

/** All boxes on the screen, the lowest layer first. */
export function visibleBoxes(frame: Scrolled): readonly PlacedBox[] {
  const { pinned, head, scrolled } = regionsOf(frame)
  return [...scrolled.boxes, ...head.boxes, ...pinned.boxes]
}

/** The box under a point of the canvas, or null. */
export function boxUnder(frame: Scrolled, y: number): PlacedBox | null {
  const { pinned, head, scrolled } = regionsOf(frame)
  const region = [pinned, head, scrolled].find((one) => y >= one.top && y < one.bottom)
  return region?.boxes.find(({ box, top }) => y >= top && y < top + box.height) ?? null
}

export type RowPlace = { readonly top: number; readonly height: number }

/** Finds many rows of tracks on one frame: what is on the screen is worked out once. */
export function rowFinder(frame: Scrolled): (rank: number, row: number) => RowPlace | null {
  const { pinned, head, scrolled } = regionsOf(frame)
  const places = new Map<string, RowPlace>()
  for (const region of [{ ...scrolled, top: head.bottom }, head, pinned]) {
    for (const { box, top } of region.boxes) {
      if (box.kind !== 'track') continue
      for (let line = 0; line < box.rows; line += 1) {
        const from = Math.max(region.top, top + line * box.rowHeight)
        const to = Math.min(region.bottom, top + (line + 1) * box.rowHeight)
        if (from < to) places.set(`${box.rank}.${box.firstRow + line}`, { top: from, height: to - from })
      }
    }
  }
  return (rank, row) => places.get(`${rank}.${row}`) ?? null
}

/** Where a row of a rank's tracks, or of its lanes, lies on the canvas; null where it is out of sight or not shown. */
export function placeOfRow(
  frame: Scrolled,
  rank: number,
  row: number,
  lanes = false,
): { top: number; height: number } | null {
  const { pinned, head, scrolled } = regionsOf(frame)
  for (const region of [pinned, head, scrolled]) {
    const found = region.boxes.find(
      ({ box }) =>
        box.rank === rank &&
        (lanes ? box.kind === 'lanes' || box.kind === 'strip' : box.kind === 'track') &&
        row >= box.firstRow &&
        row < box.firstRow + box.rows,
    )
    if (!found) continue
    const top = found.top + (row - found.box.firstRow) * found.box.rowHeight
    // What the head covers is out of sight too.
    const covered = region === scrolled ? head.bottom : region.top
    if (top + found.box.rowHeight > covered && top < region.bottom) return { top, height: found.box.rowHeight }
  }
  return null
}

/** The visible stretch on a rank's own clock. */
export function rankSpan(frame: Pick<Frame, 'view' | 'offsets'>, rank: number): Span {
  const offset = frame.offsets.get(rank) ?? 0
  return { start: frame.view.start - offset, end: frame.view.end - offset }
}

/** Pixel of a moment of a rank. */
export function rankX(frame: Pick<Frame, 'view' | 'offsets'>, rank: number, ns: number): number {
  return frame.view.x(ns + (frame.offsets.get(rank) ?? 0))
}
