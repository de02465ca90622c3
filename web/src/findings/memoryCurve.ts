// The lines of a picture of memory, as paths of a drawing of fixed size.
import type { MemoryPicture } from '../api/schema'

export const WIDTH = 1000
export const HEIGHT = 100

export interface MemoryLines {
  /** Closed at the bottom, to be filled. */
  readonly allocated: string
  readonly reserved: string | null
  /** Lower edge of what others hold of the device, which lies above all that is ours. */
  readonly others: number | null
  readonly moment: number | null
}

/** A value holds until the next one; the last until the end. */
export function stairs(picture: MemoryPicture): MemoryLines {
  const { steps, allocated_bytes: allocated, reserved_bytes: reserved } = picture
  const byStep = steps.length > 0
  const times = byStep ? steps.map((_, index) => index) : picture.time_ns.map(Number)
  // The moment may lie behind the last change: the picture reaches to it.
  const end = Math.max(1, (times.at(-1) ?? 0) + (byStep ? 1 : 0), Number(picture.moment_ns ?? 0))
  const others = picture.others_bytes ?? null
  // Without others the curve fills the picture: how much is left of the device is a number, not a shape.
  const most = Math.max(1, ...allocated, ...(reserved ?? [])) + (others ?? 0)
  const x = (time: number): number => round((WIDTH * time) / end)
  const y = (size: number): number => round(HEIGHT - (HEIGHT * size) / most)
  const line = (sizes: readonly number[]): string =>
    `${sizes.map((size, index) => `H${x(times[index] ?? 0)}V${y(size)}`).join('')}H${WIDTH}`
  return {
    allocated: `M0 ${HEIGHT}${line(allocated)}V${HEIGHT}Z`,
    reserved: reserved ? `M0 ${y(reserved[0] ?? 0)}${line(reserved)}` : null,
    others: others === null ? null : y(most - others),
    // A line at the very edge would be cut in half.
    moment: picture.moment_ns == null ? null : Math.min(WIDTH - 2, x(Number(picture.moment_ns))),
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
