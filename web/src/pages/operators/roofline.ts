// The roofline: rates that a device can reach at an arithmetic intensity, and where operators stand.
import type { OperatorFlops, RankFlops } from '../../api/schema'

export interface Roof {
  readonly dtype: string
  readonly peak: number
  /** Points of the roof from the left edge of the chart to the right: slope (where bandwidth is known), then level. */
  readonly points: readonly (readonly [number, number])[]
}

/** Operators that can be placed: with an intensity and a rate. */
export function placed(operators: readonly OperatorFlops[]): readonly OperatorFlops[] {
  return operators.filter((one) => (one.intensity ?? 0) > 0 && (one.flops_per_s ?? 0) > 0)
}

/** The stretch of intensities to show, in whole decades, with room around all points. */
export function decades(values: readonly number[]): readonly [number, number] {
  if (values.length === 0) return [0.1, 1000]
  const low = Math.floor(Math.log10(Math.min(...values)) - 0.3)
  const high = Math.ceil(Math.log10(Math.max(...values)) + 0.3)
  return [10 ** low, 10 ** Math.max(high, low + 2)]
}

/** One roof for each element type that occurs and has a known peak. */
export function roofs(
  rank: RankFlops,
  operators: readonly OperatorFlops[],
  [left, right]: readonly [number, number],
): Roof[] {
  const used = new Set(operators.map((one) => one.dtype))
  const slope = rank.memory_bytes_per_s
  return Object.entries(rank.peaks_flops_per_s)
    .filter(([dtype, peak]) => used.has(dtype) && peak > 0)
    .map(([dtype, peak]) => ({ dtype, peak, points: roofPoints(peak, slope, left, right) }))
}

function roofPoints(
  peak: number,
  slope: number | null,
  left: number,
  right: number,
): readonly (readonly [number, number])[] {
  if (slope === null || slope <= 0) {
    return [
      [left, peak],
      [right, peak],
    ]
  }
  const ridge = peak / slope
  if (ridge <= left) {
    return [
      [left, peak],
      [right, peak],
    ]
  }
  if (ridge >= right) {
    return [
      [left, left * slope],
      [right, right * slope],
    ]
  }
  return [
    [left, left * slope],
    [ridge, peak],
    [right, peak],
  ]
}
