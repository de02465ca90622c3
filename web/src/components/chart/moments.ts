// Moments on the axis of a chart: exact nanoseconds as numbers, counted from where the run (or the samples) begin.

/** Absolute nanoseconds as the wire carries them. */
export type Absolute = number | string

export interface Band {
  readonly name: string
  /** Relative to the clock's zero, in ns. */
  readonly start: number
  readonly end: number
  /** CSS variable of its colour; without one, every other band is shaded. */
  readonly colour?: string
}

export interface Clock {
  readonly origin: bigint
  /** Whether these moments can be found on the timeline. */
  readonly onTimeline: boolean
}

interface RunSpan {
  readonly origin_ns: string
  readonly end_at_ns: number
}

/** Samples may end a moment after the last event: this much of the run's length still counts as the same clock. */
const SLACK = 0.5

/** The run's clock where the moments lie on it, else one that begins with the first of them. */
export function clockOf(times: readonly Absolute[], run: RunSpan | undefined): Clock {
  const first = times[0]
  if (first === undefined) return { origin: BigInt(run?.origin_ns ?? 0), onTimeline: run !== undefined }
  if (run) {
    const at = relative(first, BigInt(run.origin_ns))
    const room = run.end_at_ns * SLACK + 1e9
    if (at >= -room && at <= run.end_at_ns + room) return { origin: BigInt(run.origin_ns), onTimeline: true }
  }
  return { origin: BigInt(first), onTimeline: false }
}

/** Nanoseconds since the origin; exact, because the difference fits into a double. */
export function relative(time: Absolute, origin: bigint): number {
  return Number(BigInt(time) - origin)
}

/** Back to absolute nanoseconds, as decimal text. */
export function absolute(at: number, origin: bigint): string {
  return String(BigInt(Math.round(at)) + origin)
}

/** The moments of a curve on the axis of a chart. */
export function relativeAll(times: readonly Absolute[] | undefined, origin: bigint): number[] {
  return (times ?? []).map((time) => relative(time, origin))
}

/** Steps as bands of a chart. */
export function stepBands(
  steps: readonly { readonly step: number; readonly start_ns: Absolute | null; readonly duration_us: number }[],
  origin: bigint,
): Band[] {
  return steps.flatMap((step) => {
    if (step.start_ns == null) return [] // a summary tells how long steps were, and not when
    const start = relative(step.start_ns, origin)
    return [{ name: String(step.step), start, end: start + Math.round(step.duration_us * 1000) }]
  })
}

/** `t` of the timeline's address: the stretch with some room on both sides. */
export function aroundText(from: number, to: number, room = 0.25): string {
  const length = Math.max(to - from, 1000)
  return `${Math.round(from - length * room)}-${Math.round(to + length * room)}`
}
