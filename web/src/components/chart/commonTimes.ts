// Curves that are stacked need values at the same moments: charts add up the points of equal index, not of equal time.
import type { CurveSeries } from './timeOption'

/** The same curves at the moments of all of them; each keeps its last value, and is 0 before its first. */
export function atCommonTimes(curves: readonly CurveSeries[]): CurveSeries[] {
  const times = [...new Set(curves.flatMap((curve) => [...curve.times]))].toSorted((one, other) => one - other)
  return curves.map((curve) => {
    let next = 0
    const values = times.map((time) => {
      while (next < curve.times.length && (curve.times[next] ?? 0) <= time) next += 1
      return next === 0 ? 0 : (curve.values[next - 1] ?? 0)
    })
    return { ...curve, times, values }
  })
}
