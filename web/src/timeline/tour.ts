// Tours of the timeline: ordered stops that a reader walks with J and K. The address names the tour and the stop:
// `tour=path:7` (the critical path of step 7) or `tour=gaps`, and `stop=3`, counted from 1. Any other tour is along the
// proofs of a finding, over all pages (findings/TourBar.svelte).
import type { CriticalPath, Gap } from '../api/schema'
import type { SliceBrief } from '../api/timeline'
import type { SliceKey } from './selection'
import type { Span } from './view'

export type TourSpec = { readonly kind: 'path'; readonly step: number | null } | { readonly kind: 'gaps' }

export interface TourStop extends Span {
  readonly rank: number
  /** What stands here; empty where only a cause is known. */
  readonly name: string
  /** Why it is a stop: a bound of the path, the cause of a gap. */
  readonly reason: string
  readonly slices: readonly SliceKey[]
  /** Row of the slice; null for a stretch of time. */
  readonly row: number | null
}

export interface Tour {
  readonly spec: TourSpec
  readonly stops: readonly TourStop[]
}

export function tourFromText(text: string | undefined): TourSpec | null {
  const [kind = '', ...rest] = (text ?? '').split(':')
  const value = rest.join(':')
  if (kind === 'gaps') return { kind }
  return kind === 'path' ? { kind, step: /^-?\d+$/.test(value) ? Number(value) : null } : null
}

export function tourToText(spec: TourSpec): string {
  if (spec.kind === 'gaps') return 'gaps'
  return spec.step === null ? 'path' : `path:${spec.step}`
}

/** The stop before or behind another, counted from 0; a tour ends at its ends. */
export function nextStop(now: number | null, by: 1 | -1, count: number): number | null {
  if (count === 0) return null
  return now === null ? 0 : Math.min(count - 1, Math.max(0, now + by))
}

/** Moments of a rank's own clock as nanoseconds since the run's begin. */
export type Relative = (rank: number, ns: number | string) => number

/** Parts of the path in the order of time; parts that touch each other on one slice are one stop. */
export function pathStops(path: CriticalPath, places: ReadonlyMap<number, SliceBrief>, relative: Relative): TourStop[] {
  const { rank } = path
  return path.path.map((part) => {
    const start = relative(rank, part.start_ns)
    const slices = part.slice === null ? [] : [{ rank, slice: part.slice }]
    const row = part.slice === null ? null : (places.get(part.slice)?.row ?? null)
    const end = start + Math.round(part.duration_us * 1000)
    return { rank, start, end, name: part.name ?? '', reason: part.bound, slices, row }
  })
}

/** Gaps by their length, the longest first; nothing before the run begins. */
export function gapStops(gaps: readonly Gap[], relative: Relative): TourStop[] {
  return gaps
    .toSorted((a, b) => b.duration_us - a.duration_us)
    .map((gap) => {
      const begin = relative(gap.rank, gap.start_ns)
      const start = Math.max(0, begin)
      const end = Math.max(start, begin + Math.round(gap.duration_us * 1000))
      const name = gap.host_name ?? gap.sync_name ?? ''
      return { rank: gap.rank, start, end, name, reason: gap.cause, slices: [], row: null }
    })
}

/** Of some steps the one that a stretch of time shows most of; null where it shows none. */
export function mostVisible<S extends Span>(steps: readonly S[], view: Span): S | null {
  let best: S | null = null
  let most = 0
  for (const step of steps) {
    const shared = Math.min(step.end, view.end) - Math.max(step.start, view.start)
    if (shared > most) [best, most] = [step, shared]
  }
  return best
}
