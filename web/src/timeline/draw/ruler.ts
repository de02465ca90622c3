// The time axis above the lanes, with the flags' heads on it.
import { durationNs } from '../../format/units'
import { roundStep, ticks } from '../../format/axis'
import type { Flag } from '../flags'
import type { RangeSelection } from '../selection'
import type { CanvasTheme } from '../theme'
import type { TimeView } from '../view'

const TICK_ROOM = 110

export function drawRuler(
  context: CanvasRenderingContext2D,
  size: { width: number; height: number; ratio: number },
  view: TimeView,
  theme: CanvasTheme,
  flags: readonly Flag[],
  range: RangeSelection | null,
): void {
  context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0)
  context.fillStyle = theme.laneAlternate
  context.fillRect(0, 0, size.width, size.height)
  if (range) {
    context.fillStyle = theme.accent
    context.globalAlpha = 0.2
    context.fillRect(view.x(range.start), 0, view.x(range.end) - view.x(range.start), size.height)
    context.globalAlpha = 1
  }
  context.font = `11px ${theme.font}`
  context.textBaseline = 'middle'
  const step = roundStep(view.end - view.start, size.width, TICK_ROOM)
  for (const tick of ticks(view.start, view.end, step)) {
    const x = Math.round(view.x(tick))
    context.fillStyle = theme.line
    context.fillRect(x, 0, 1, size.height)
    context.fillStyle = theme.inkSoft
    const text = tickText(tick, step)
    // A label that would be cut off is left out; its tick stays.
    if (x + 4 + context.measureText(text).width <= size.width) context.fillText(text, x + 4, size.height / 2)
  }
  for (const flag of flags) drawHead(context, view.x(flag.at), size.height, flag, theme)
}

/** Enough digits to tell neighbouring ticks apart, in the unit of the tick's size. */
export function tickText(ns: number, step: number): string {
  if (ns === 0) return '0'
  const [scale, unit] =
    Math.abs(ns) >= 1e9 ? [1e9, 's'] : Math.abs(ns) >= 1e6 ? [1e6, 'ms'] : Math.abs(ns) >= 1e3 ? [1e3, 'µs'] : [1, 'ns']
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9))
  if (decimals > 9) return durationNs(ns)
  return `${(ns / scale).toFixed(decimals)} ${unit}`
}

function drawHead(context: CanvasRenderingContext2D, x: number, height: number, flag: Flag, theme: CanvasTheme): void {
  if (flag.note) {
    // The note stands before the labels of the axis, not on them.
    context.fillStyle = theme.laneAlternate
    context.fillRect(x + 1, 0, 15 + context.measureText(flag.note).width, height)
  }
  context.fillStyle = theme.warning
  context.beginPath()
  context.moveTo(x, 2)
  context.lineTo(x + 9, 6)
  context.lineTo(x, 10)
  context.fill()
  context.fillRect(Math.round(x), 2, 1, height)
  if (flag.note) context.fillText(flag.note, x + 12, 7)
}
