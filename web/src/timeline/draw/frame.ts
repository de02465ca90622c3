// Everything one frame is drawn from.
import type { Offsets } from '../align'
import type { Box, Layout } from '../layout'
import { boxesBetween } from '../layout'
import type { RunModel } from '../model'
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
}

export interface PlacedBox {
  readonly box: Box
  /** Top on the canvas. */
  readonly top: number
}

/** Boxes on the screen: the pinned ones, then the scrolled ones below them. */
export function visibleBoxes(frame: Pick<Frame, 'layout' | 'scrollTop' | 'height'>): {
  pinned: PlacedBox[]
  scrolled: PlacedBox[]
} {
  const { layout, scrollTop, height } = frame
  const pinned = layout.pinned.map((box) => ({ box, top: box.y }))
  const room = Math.max(0, height - layout.pinnedHeight)
  const scrolled = boxesBetween(layout.scrolled, scrollTop, scrollTop + room).map((box) => ({
    box,
    top: box.y - scrollTop + layout.pinnedHeight,
  }))
  return { pinned, scrolled }
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
