// The upper canvas: pointer, selection, range, links, flags, critical path. Cheap, so hovering costs little.
import type { Flows, SliceBrief } from '../../api/timeline'
import type { Flag } from '../flags'
import { bend, curvesOf } from '../flowCurves'
import type { Hit } from '../hit'
import { rowMiddle } from '../layout'
import type { RangeSelection } from '../selection'
import type { TourStop } from '../tour'
import type { Span } from '../view'
import { placeOfRow, rankX, rowFinder, type Frame } from './frame'

/** The stops of a tour and where the reader stands; the rest of the timeline steps back. */
export interface TourShown {
  readonly stops: readonly TourStop[]
  readonly position: number | null
}

export interface OverlayState {
  readonly pointerX: number | null
  readonly hover: Hit | null
  readonly selected: readonly SliceBrief[]
  readonly reference: SliceBrief | null
  readonly range: RangeSelection | null
  /** A range or box being drawn. */
  readonly drag: (Span & { readonly top: number; readonly bottom: number; readonly zoom: boolean }) | null
  readonly flows: readonly Flows[]
  readonly flags: readonly Flag[]
  readonly gap: { readonly rank: number; readonly at_ns: number; readonly dur_ns: number } | null
  readonly tour: TourShown | null
}

export function drawOverlay(context: CanvasRenderingContext2D, frame: Frame, state: OverlayState): void {
  context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0)
  context.clearRect(0, 0, frame.width, frame.height)
  // A tour speaks of its stops; the range stays selected behind it.
  if (state.range && !state.tour) drawRange(context, frame, state.range)
  if (state.gap) drawGap(context, frame, state.gap)
  if (state.tour) drawTour(context, frame, state.tour)
  for (const flows of state.flows) drawFlows(context, frame, flows)
  if (state.hover) outlineHit(context, frame, state.hover)
  for (const slice of state.selected) outlineSlice(context, frame, slice, frame.theme.ink, 2)
  if (state.reference) outlineSlice(context, frame, state.reference, frame.theme.warning, 2)
  for (const flag of state.flags) drawFlag(context, frame, flag)
  if (state.drag) drawDrag(context, frame, state.drag)
  else if (state.pointerX !== null) vertical(context, frame, state.pointerX, frame.theme.inkSoft, 0.5)
}

/** Middle of a row on the canvas even when it is scrolled out of sight, so that links point the right way. */
export function middleOfRow(frame: Frame, rank: number, row: number): number | null {
  const pinned = rowMiddle(frame.layout.pinned, rank, row)
  if (pinned !== null) return pinned
  const middle = rowMiddle(frame.layout.scrolled, rank, row)
  if (middle === null) return null
  return Math.max(frame.layout.pinnedHeight, middle - frame.scrollTop + frame.layout.pinnedHeight)
}

function outlineSlice(
  context: CanvasRenderingContext2D,
  frame: Frame,
  slice: SliceBrief,
  colour: string,
  line: number,
): void {
  const place = placeOfRow(frame, slice.rank, slice.row)
  if (!place) return
  outline(
    context,
    frame,
    rankX(frame, slice.rank, slice.at_ns),
    rankX(frame, slice.rank, slice.at_ns + slice.dur_ns),
    place,
    colour,
    line,
  )
}

function outlineHit(context: CanvasRenderingContext2D, frame: Frame, hit: Hit): void {
  const place = placeOfRow(frame, hit.rank, hit.row, hit.block < 0)
  if (place)
    outline(
      context,
      frame,
      rankX(frame, hit.rank, hit.start),
      rankX(frame, hit.rank, hit.end),
      place,
      frame.theme.ink,
      1,
    )
}

function outline(
  context: CanvasRenderingContext2D,
  frame: Frame,
  x0: number,
  x1: number,
  place: { top: number; height: number },
  colour: string,
  line: number,
): void {
  if (x1 < -4 || x0 > frame.width + 4) return
  const left = Math.max(-4, x0)
  const width = Math.max(3, Math.min(frame.width + 4, x1) - left)
  context.strokeStyle = colour
  context.lineWidth = line
  context.strokeRect(
    left + line / 2 - 1,
    place.top + line / 2 - 1,
    width - line + 2,
    Math.max(2, place.height - line + 1),
  )
}

/** How much of what is not spoken of is covered. */
const DIMMED = 0.6

function dimAll(context: CanvasRenderingContext2D, frame: Frame): void {
  context.globalAlpha = DIMMED
  context.fillStyle = frame.theme.background
  // The axis of steps stays as it is: it says where one is.
  const top = frame.layout.pinned[0]?.kind === 'steps' ? (frame.layout.pinned[0]?.height ?? 0) : 0
  context.fillRect(0, top, frame.width, frame.height - top)
  context.globalAlpha = 1
}

/** What lies outside the range, in time or on other tracks, steps back. */
function drawRange(context: CanvasRenderingContext2D, frame: Frame, range: RangeSelection): void {
  const x0 = frame.view.x(range.start)
  const x1 = frame.view.x(range.end)
  const left = Math.max(0, x0)
  const width = Math.min(frame.width, x1) - left
  dimAll(context, frame)
  if (width > 0 && range.rows.length === 0) context.clearRect(left, 0, width, frame.height)
  const find = rowFinder(frame)
  for (const row of width > 0 ? range.rows : []) {
    for (let one = row.first_row; one <= row.last_row; one += 1) {
      const place = find(row.rank, one)
      if (place) context.clearRect(left, place.top, width, place.height)
    }
  }
  vertical(context, frame, x0, frame.theme.accent, 1)
  vertical(context, frame, x1, frame.theme.accent, 1)
}

/** Stops stay bright: slices on their rows, stretches of time over all rows. */
function drawTour(context: CanvasRenderingContext2D, frame: Frame, { stops, position }: TourShown): void {
  dimAll(context, frame)
  const find = rowFinder(frame)
  const present = position === null ? undefined : stops[position]
  for (const stop of stops) {
    const x0 = Math.max(0, rankX(frame, stop.rank, stop.start))
    const x1 = Math.min(frame.width, rankX(frame, stop.rank, stop.end))
    if (x1 < 0 || x0 > frame.width) continue
    const width = Math.max(1, x1 - x0)
    // Of stretches only the present one is shown: the others are its neighbours' waits.
    if (stop.row === null) {
      if (stop === present) context.clearRect(x0, 0, width, frame.height)
      continue
    }
    const place = find(stop.rank, stop.row)
    if (!place) continue
    context.clearRect(x0, place.top, width, place.height)
    context.fillStyle = frame.theme.critical
    context.fillRect(x0, place.top + place.height - 3, width, 3)
  }
  if (present) outlineStop(context, frame, present)
}

function outlineStop(context: CanvasRenderingContext2D, frame: Frame, stop: TourStop): void {
  const x0 = rankX(frame, stop.rank, stop.start)
  const x1 = rankX(frame, stop.rank, stop.end)
  const place = stop.row === null ? null : placeOfRow(frame, stop.rank, stop.row)
  if (place) outline(context, frame, x0, x1, place, frame.theme.critical, 2)
  else {
    vertical(context, frame, x0, frame.theme.critical, 1)
    vertical(context, frame, x1, frame.theme.critical, 1)
  }
}

function drawDrag(context: CanvasRenderingContext2D, frame: Frame, drag: NonNullable<OverlayState['drag']>): void {
  const x0 = frame.view.x(drag.start)
  const x1 = frame.view.x(drag.end)
  context.fillStyle = drag.zoom ? frame.theme.good : frame.theme.accent
  context.globalAlpha = 0.16
  context.fillRect(x0, drag.top, x1 - x0, drag.bottom - drag.top)
  context.globalAlpha = 1
  vertical(context, frame, x0, context.fillStyle, 1)
  vertical(context, frame, x1, context.fillStyle, 1)
}

function drawGap(context: CanvasRenderingContext2D, frame: Frame, gap: NonNullable<OverlayState['gap']>): void {
  const x0 = rankX(frame, gap.rank, gap.at_ns)
  const x1 = rankX(frame, gap.rank, gap.at_ns + gap.dur_ns)
  context.fillStyle = frame.theme.critical
  context.globalAlpha = 0.14
  context.fillRect(x0, 0, Math.max(2, x1 - x0), frame.height)
  context.globalAlpha = 1
  vertical(context, frame, x0, frame.theme.critical, 1)
  vertical(context, frame, x1, frame.theme.critical, 1)
}

function drawFlows(context: CanvasRenderingContext2D, frame: Frame, flows: Flows): void {
  const curves = curvesOf(
    flows,
    (rank, row) => middleOfRow(frame, rank, row),
    (rank, ns) => rankX(frame, rank, ns),
    frame.width,
  )
  const many = curves.length > 60
  context.lineWidth = many ? 1 : 1.5
  context.globalAlpha = many ? 0.45 : 0.95
  for (const curve of curves) {
    const colour = frame.theme.links[curve.kind] ?? frame.theme.accent
    const reach = bend(curve)
    context.strokeStyle = colour
    context.beginPath()
    context.moveTo(curve.x0, curve.y0)
    context.bezierCurveTo(curve.x0 + reach, curve.y0, curve.x1 - reach, curve.y1, curve.x1, curve.y1)
    context.stroke()
    if (many) continue
    context.fillStyle = colour
    context.beginPath()
    context.moveTo(curve.x1 + 1, curve.y1)
    context.lineTo(curve.x1 - 6, curve.y1 - 4)
    context.lineTo(curve.x1 - 6, curve.y1 + 4)
    context.fill()
  }
  context.globalAlpha = 1
}

function drawFlag(context: CanvasRenderingContext2D, frame: Frame, flag: Flag): void {
  vertical(context, frame, frame.view.x(flag.at), frame.theme.warning, 1)
}

function vertical(
  context: CanvasRenderingContext2D,
  frame: Frame,
  x: number,
  colour: string | CanvasGradient | CanvasPattern,
  alpha: number,
): void {
  if (x < -1 || x > frame.width + 1) return
  context.globalAlpha = alpha
  context.fillStyle = colour
  context.fillRect(Math.round(x), 0, 1, frame.height)
  context.globalAlpha = 1
}
