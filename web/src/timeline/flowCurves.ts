// Links between slices as curves: from the end of the cause to the start of the effect.
import type { Flows } from '../api/timeline'

export interface Curve {
  readonly x0: number
  readonly y0: number
  readonly x1: number
  readonly y1: number
  readonly kind: string
}

/** Where an end of a link lies on the screen; null when its row is not shown. */
export type Locate = (rank: number, row: number) => number | null

/** Curves of all links whose two rows are shown and which touch the window. */
export function curvesOf(
  flows: Flows,
  locate: Locate,
  x: (rank: number, ns: number) => number,
  width: number,
): Curve[] {
  const curves: Curve[] = []
  for (let i = 0; i < flows.shown; i += 1) {
    const rank = flows.rank[i] as number
    const y0 = locate(rank, flows.from_row[i] as number)
    const y1 = locate(rank, flows.to_row[i] as number)
    if (y0 === null || y1 === null) continue
    const fromEnd = (flows.from_at_ns[i] as number) + (flows.from_dur_ns[i] as number)
    const toStart = flows.to_at_ns[i] as number
    // A launch may still run when its kernel starts: then the arrow leaves from the launch's start.
    const leave = fromEnd <= toStart ? fromEnd : (flows.from_at_ns[i] as number)
    const x0 = x(rank, leave)
    const x1 = x(rank, toStart)
    if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > width) continue
    curves.push({ x0, y0, x1, y1, kind: flows.kind[i] as string })
  }
  return curves
}

/** How far the curve's handles reach: enough to be told from a straight line, never past the other end by much. */
export function bend(curve: Curve): number {
  return Math.min(120, Math.max(16, Math.abs(curve.x1 - curve.x0) / 2))
}
