// Ticks of sizes at round numbers of their binary unit: 50 MiB, not 47.68.
import { sizeTicks } from './axisUnit'

const STEPS = [0.1, 0.2, 0.25, 0.5, 1, 2, 2.5, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1024] as const
const TICKS = 6

interface ByteTicks extends ReturnType<typeof sizeTicks> {
  readonly interval: number
  readonly max: number
}

/** Distance of ticks, their words and the upper end of an axis from 0 that holds `most` bytes. */
export function byteTicks(most: number): ByteTicks {
  if (!(most > 0)) return { interval: 1, max: 1, ...sizeTicks(1) }
  const unit = 1024 ** Math.floor(Math.log(Math.max(1, most)) / Math.log(1024))
  const wanted = most / unit / TICKS
  const step = STEPS.find((one) => one >= wanted && (unit > 1 || one >= 1)) ?? 1024
  const interval = step * unit
  const max = interval * Math.max(1, Math.ceil(most / interval))
  return { interval, max, ...sizeTicks(max) }
}
