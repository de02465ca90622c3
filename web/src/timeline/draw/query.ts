// The track of a query's result.
import { TextFitter } from '../labels'
import { colourOfName } from '../palette'
import { touching, type QueryTrack } from '../queryTrack'
import { shortName } from '../shortName'
import { rankX, type Frame, type PlacedBox } from './frame'

const LABEL_PIXELS = 26

export function drawQuery(context: CanvasRenderingContext2D, frame: Frame, placed: PlacedBox, track: QueryTrack): void {
  context.font = `11px ${frame.theme.font}`
  context.textBaseline = 'middle'
  const fitter = new TextFitter((text) => context.measureText(text).width)
  track.rows.forEach((row, line) => {
    const top = placed.top + line * placed.box.rowHeight
    for (const slice of touching(row, frame.view.start, frame.view.end)) {
      const x0 = Math.max(0, rankX(frame, slice.rank, slice.start))
      const x1 = Math.min(frame.width, rankX(frame, slice.rank, slice.end))
      const colour = colourOfName(slice.name)
      context.fillStyle = frame.theme.names.css[colour] ?? frame.theme.accent
      context.fillRect(x0, top, Math.max(1, x1 - x0 - 0.5), placed.box.rowHeight - 1)
      const label = x1 - x0 >= LABEL_PIXELS ? fitter.fit(shortName(slice.name), x1 - x0) : ''
      if (label === '') continue
      context.fillStyle = frame.theme.names.ink[colour] ?? frame.theme.ink
      context.fillText(label, x0 + 4, top + placed.box.rowHeight / 2)
    }
  })
}
