// Counters: a step line with its range, so that no peak is lost however many samples share a pixel.
import { BINS, spanOf, tileRange } from '../tiles/key'
import type { CounterTile } from '../tiles/codec'
import { rankSpan, rankX, type Frame, type PlacedBox } from './frame'

const PADDING = 4

export function drawCounter(context: CanvasRenderingContext2D, frame: Frame, placed: PlacedBox): void {
  const { box, top } = placed
  const range = box.track?.counter
  if (!range || !box.track) return
  const low = Math.min(0, range.min ?? 0)
  const high = Math.max(range.max ?? 0, low + 1e-9)
  const bottom = top + box.height - 1
  const y = (value: number): number => bottom - ((value - low) / (high - low)) * (box.height - PADDING)
  const [first, last] = tileRange(rankSpan(frame, box.rank), frame.level)
  context.save()
  context.beginPath()
  context.rect(0, top, frame.width, box.height)
  context.clip()
  for (let index = first; index <= last; index += 1) {
    for (const standIn of frame.counters.standIns(box.rank, box.track.track, frame.level, index)) {
      const span = spanOf(standIn.level, standIn.index)
      const start = rankX(frame, box.rank, span.start)
      const scale = 2 ** standIn.level / frame.view.nsPerPixel
      paint(context, standIn.tile, start, scale, y, bottom, frame.theme.links['queue'] ?? frame.theme.accent)
    }
  }
  context.restore()
}

function paint(
  context: CanvasRenderingContext2D,
  tile: CounterTile,
  start: number,
  scale: number,
  y: (value: number) => number,
  bottom: number,
  colour: string,
): void {
  const area = new Path2D()
  const band = new Path2D()
  let value = tile.before
  let x = start
  const hold = (to: number): void => {
    if (Number.isFinite(value) && to > x) area.rect(x, y(value), to - x, Math.max(1, bottom - y(value)))
    x = to
  }
  for (let i = 0; i < tile.bins; i += 1) {
    const at = start + (tile.bin[i] as number) * scale
    hold(at)
    const width = Math.max(1, scale)
    band.rect(at, y(tile.max[i] as number), width, Math.max(1, y(tile.min[i] as number) - y(tile.max[i] as number)))
    value = tile.last[i] as number
  }
  hold(start + BINS * scale)
  context.globalAlpha = 0.35
  context.fillStyle = colour
  context.fill(area)
  context.globalAlpha = 1
  context.fill(band)
}

/** The value of a counter at a moment of its rank, from what is loaded; null when unknown. */
export function counterValue(frame: Frame, rank: number, track: number, ns: number): number | null {
  const [index] = tileRange({ start: ns, end: ns + 1 }, frame.level)
  const standIn = frame.counters.standIns(rank, track, frame.level, index)[0]
  if (!standIn) return null
  const { tile } = standIn
  const bin = (ns - spanOf(standIn.level, standIn.index).start) / 2 ** standIn.level
  let value = tile.before
  for (let i = 0; i < tile.bins && (tile.bin[i] as number) <= bin; i += 1) value = tile.last[i] as number
  return Number.isFinite(value) ? value : null
}
