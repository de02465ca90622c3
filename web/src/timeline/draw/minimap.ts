// The whole run in one strip: steps, busy lanes of the first rank, proofs of findings, search hits, and the window that is shown.
import type { RunModel } from '../model'
import { stepSpan } from '../model'
import type { Flag } from '../flags'
import { SHADES } from '../palette'
import type { CanvasTheme } from '../theme'
import type { TileCache } from '../tiles/cache'
import type { Tile } from '../tiles/codec'
import { LANES_BLOCK, overviewLevel } from '../tiles/key'
import type { Span, TimeView } from '../view'

export interface MinimapState {
  readonly model: RunModel
  readonly view: TimeView
  readonly theme: CanvasTheme
  readonly tiles: TileCache<Tile>
  readonly rank: number
  readonly hits: readonly number[]
  readonly flags: readonly Flag[]
  readonly bands: readonly MinimapBand[]
}

/** A stretch that proves a finding. */
export interface MinimapBand extends Span {
  readonly critical: boolean
}

const STEP_HEIGHT = 9
const BAND_HEIGHT = 3

export function drawMinimap(
  context: CanvasRenderingContext2D,
  size: { width: number; height: number; ratio: number },
  state: MinimapState,
): void {
  const { theme, model } = state
  const x = (ns: number): number => (ns / model.bounds.end) * size.width
  context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0)
  context.fillStyle = theme.lane
  context.fillRect(0, 0, size.width, size.height)
  drawStepMarks(context, state, x)
  drawLanes(context, state, size, x)
  for (const band of state.bands) {
    context.fillStyle = band.critical ? theme.critical : theme.warning
    const left = x(band.start)
    context.fillRect(left, size.height - BAND_HEIGHT, Math.max(2, x(band.end) - left), BAND_HEIGHT)
  }
  drawHits(context, state, size)
  context.fillStyle = theme.warning
  for (const flag of state.flags) context.fillRect(x(flag.at), 0, 1.5, size.height)
  drawWindow(context, size, state, { start: x(state.view.start), end: x(state.view.end) })
}

function drawStepMarks(context: CanvasRenderingContext2D, state: MinimapState, x: (ns: number) => number): void {
  const steps = state.model.ranks.get(state.rank)?.info.steps ?? []
  steps.forEach((mark, index) => {
    const span = stepSpan(mark)
    context.fillStyle = state.theme.good
    context.globalAlpha = mark.warm_up ? 0.2 : index % 2 ? 0.4 : 0.6
    context.fillRect(x(span.start), 0, Math.max(1, x(span.end) - x(span.start) - 0.5), STEP_HEIGHT)
  })
  context.globalAlpha = 1
}

/** Computing and exposed communication of the overview tile, as two thin lanes. */
function drawLanes(
  context: CanvasRenderingContext2D,
  state: MinimapState,
  size: { width: number; height: number },
  x: (ns: number) => number,
): void {
  const level = overviewLevel(state.model.length)
  const tile = state.tiles.get(state.rank, LANES_BLOCK, level, 0)
  if (!tile) return
  const bin = 2 ** level
  const rows = [0, 1, 2]
  const height = (size.height - STEP_HEIGHT - 3) / rows.length
  rows.forEach((row, place) => {
    const top = STEP_HEIGHT + 2 + place * height
    for (let i = tile.rowStart[row] as number; i < (tile.rowStart[row + 1] as number); i += 1) {
      const shared = (tile.count[i] as number) > 1
      const from = x((shared ? Math.floor(tile.x0[i] as number) : (tile.x0[i] as number)) * bin)
      const to = Math.max(x((tile.x1[i] as number) * bin), shared ? from + x(bin) : from)
      context.globalAlpha = shared && to - from <= x(bin) * 1.01 ? 0.2 + (0.8 * (tile.fill[i] as number)) / 255 : 1
      context.fillStyle = state.theme.lanes.css[row] ?? state.theme.accent
      context.fillRect(from, top, Math.max(0.6, to - from), height - 1)
    }
  })
  context.globalAlpha = 1
}

function drawHits(
  context: CanvasRenderingContext2D,
  state: MinimapState,
  size: { width: number; height: number },
): void {
  if (state.hits.length === 0) return
  const most = Math.max(...state.hits)
  const width = size.width / state.hits.length
  context.fillStyle = state.theme.critical
  state.hits.forEach((count, index) => {
    if (count === 0) return
    const height = 3 + (count / most) * (SHADES - 6)
    context.fillRect(index * width, size.height - height, Math.max(1, width - 0.5), height)
  })
}

function drawWindow(
  context: CanvasRenderingContext2D,
  size: { width: number; height: number },
  state: MinimapState,
  pixels: Span,
): void {
  const left = Math.max(0, pixels.start)
  const right = Math.min(size.width, Math.max(pixels.end, left + 2))
  context.fillStyle = state.theme.background
  context.globalAlpha = 0.6
  context.fillRect(0, 0, left, size.height)
  context.fillRect(right, 0, size.width - right, size.height)
  context.globalAlpha = 1
  context.strokeStyle = state.theme.accent
  context.lineWidth = 1.5
  context.strokeRect(left + 0.75, 0.75, Math.max(1, right - left - 1.5), size.height - 1.5)
}
