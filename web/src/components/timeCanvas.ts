// A canvas of rows over time: sharp on every screen, with round moments above its rows.
import { roundStep, ticks } from '../format/axis'
import { durationNs } from '../format/units'
import { cssVariable } from '../state/theme.svelte'

/** Pixels between two moments, and what the last one needs at the right. */
const BETWEEN = 90
const LAST = 26

/** An empty canvas of that size in CSS pixels, ready to draw on; null as long as it cannot be seen. */
export function emptyCanvas(
  canvas: HTMLCanvasElement | null,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const context = canvas?.getContext('2d')
  if (!canvas || !context || width === 0) return null
  const ratio = devicePixelRatio || 1
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  context.font = `11px ${cssVariable('--font')}`
  context.textBaseline = 'middle'
  return context
}

interface Axis {
  /** The time that is shown, in ns. */
  readonly from: number
  readonly to: number
  /** Pixels: where time begins, how wide all is, how high the line of moments. */
  readonly gutter: number
  readonly width: number
  readonly head: number
  readonly x: (time: number) => number
}

/** Writes the moments; gives where they stand. */
export function drawMoments(context: CanvasRenderingContext2D, axis: Axis): number[] {
  const { from, to, gutter, width, head, x } = axis
  context.fillStyle = cssVariable('--ink-3')
  context.textAlign = 'center'
  const moments = ticks(from, to, roundStep(to - from, width - gutter, BETWEEN))
  for (const at of moments) context.fillText(durationNs(at), Math.min(x(at), width - LAST), head / 2)
  return moments.map(x)
}
