// The lower canvas: lanes, step bands, slices, counters. Redrawn when the view or the data change, not on hover.
import { durationNs } from '../../format/units'
import type { Box } from '../layout'
import { stepSpan } from '../model'
import { drawCounter } from './counters'
import { rankX, regionsOf, type Frame, type PlacedBox, type Region } from './frame'
import { drawQuery } from './query'
import type { RowPainter } from './rows'

export function drawBase(context: CanvasRenderingContext2D, frame: Frame, painter: RowPainter): void {
  const { pinned, head, scrolled } = regionsOf(frame)
  context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0)
  context.fillStyle = frame.theme.background
  context.fillRect(0, 0, frame.width, frame.height)
  painter.statistics.walked = 0
  painter.statistics.lines = 0
  painter.statistics.missing = 0
  for (const region of [scrolled, head, pinned]) {
    if (region.boxes.length === 0) continue
    drawRegion(context, frame, painter, region)
    if (region === scrolled) continue
    context.fillStyle = frame.theme.lineStrong
    context.fillRect(0, region.bottom - 1, frame.width, 1)
  }
}

function drawRegion(context: CanvasRenderingContext2D, frame: Frame, painter: RowPainter, region: Region): void {
  const { boxes, top, bottom } = region
  context.save()
  context.beginPath()
  context.rect(0, top, frame.width, bottom - top)
  context.clip()
  for (const placed of boxes) {
    context.fillStyle = isHeading(placed.box) ? frame.theme.heading : frame.theme.lane
    context.fillRect(0, placed.top, frame.width, placed.box.height)
  }
  painter.draw(context, frame, boxes, top, bottom)
  for (const placed of boxes) {
    if (placed.box.kind === 'counter') drawCounter(context, frame, placed)
    if (placed.box.kind === 'query' && frame.query) drawQuery(context, frame, placed, frame.query)
    if (placed.box.kind === 'steps') drawSteps(context, frame, placed)
    context.fillStyle = frame.theme.line
    context.fillRect(0, placed.top + placed.box.height - 1, frame.width, 1)
  }
  context.restore()
}

function isHeading(box: Box): boolean {
  return box.kind === 'steps' || box.kind === 'group' || box.kind === 'quiet' || box.kind === 'hidden'
}

/** Steps as bands with their number: their periods, which the idle time of the lanes is part of. */
function drawSteps(context: CanvasRenderingContext2D, frame: Frame, placed: PlacedBox): void {
  const steps = frame.model.ranks.get(placed.box.rank)?.info.steps ?? []
  context.font = `11px ${frame.theme.font}`
  context.textBaseline = 'middle'
  const top = placed.top + 3
  const height = placed.box.height - 6
  steps.forEach((mark, index) => {
    const span = stepSpan(mark)
    const x0 = rankX(frame, placed.box.rank, span.start)
    const x1 = rankX(frame, placed.box.rank, span.end)
    if (x1 < 0 || x0 > frame.width || x1 - x0 < 0.5) return
    const left = Math.max(0, x0)
    const right = Math.min(frame.width, x1)
    context.globalAlpha = mark.warm_up || mark.incomplete ? 0.25 : index % 2 === 0 ? 0.55 : 0.4
    context.fillStyle = frame.theme.good
    context.fillRect(left, top, Math.max(1, right - left - 1), height)
    context.globalAlpha = 1
    const text = x1 - x0 > 160 ? `${mark.step} · ${durationNs(span.end - span.start)}` : String(mark.step)
    if (right - left > text.length * 7 + 8) {
      context.fillStyle = frame.theme.ink
      context.fillText(text, left + 5, placed.top + placed.box.height / 2)
    }
  })
}
