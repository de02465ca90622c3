// Queues over time: when they were empty or full, and how full they were in a stretch.
import { relativeAll, type Band } from '../../components/chart/moments'
import type { PipelineOp, QueueCurve } from '../../api/schema'

export interface QueueUse {
  readonly samples: number
  readonly use_share: number | null
  readonly empty_share: number | null
  readonly full_share: number | null
}

/** Stretches in which a queue was empty or full; a value holds until the next one. */
export function emptyAndFull(
  times: readonly number[],
  fill: readonly number[],
  capacity: number | null,
): readonly (Band & { readonly state: 'empty' | 'full' })[] {
  const bands: { name: string; start: number; end: number; state: 'empty' | 'full' }[] = []
  times.forEach((start, index) => {
    const value = fill[index] ?? 0
    const state = value <= 0 ? 'empty' : capacity !== null && capacity > 0 && value >= capacity ? 'full' : null
    if (state === null) return
    const end = times[index + 1] ?? start
    const last = bands.at(-1)
    if (last && last.state === state && last.end === start) last.end = end
    else bands.push({ name: '', start, end, state })
  })
  return bands.filter((band) => band.end > band.start)
}

export function relativeTimes(curve: QueueCurve, origin: bigint): number[] {
  return relativeAll(curve.time_ns, origin)
}

/** Exact use of every queue of a rank between two absolute moments. */
export function useQuery(rank: number, from: string, to: string): string {
  return (
    `SELECT s.op, count(*) AS samples, avg(s.queue) AS mean, avg(CASE WHEN s.queue = 0 THEN 1.0 ELSE 0.0 END) AS empty, ` +
    `avg(CASE WHEN s.queue >= o.capacity THEN 1.0 ELSE 0.0 END) AS full_, max(o.capacity) AS capacity ` +
    `FROM pipeline_samples s JOIN pipeline_ops o ON o.rank = s.rank AND o.op = s.op ` +
    `WHERE s.rank = ${rank} AND s.time_ns BETWEEN ${from} AND ${to} GROUP BY s.op`
  )
}

export function useOfRow(row: Readonly<Record<string, unknown>>): readonly [number, QueueUse] {
  const capacity = row['capacity'] as number | null
  const mean = row['mean'] as number
  return [
    row['op'] as number,
    {
      samples: row['samples'] as number,
      use_share: capacity ? mean / capacity : null,
      empty_share: row['empty'] as number,
      full_share: capacity ? (row['full_'] as number) : null,
    },
  ]
}

/** The queue that is looked at: the one asked for, else the one behind the bottleneck, else the last one sampled. */
export function chosenQueue(
  queues: readonly QueueCurve[],
  ops: readonly PipelineOp[],
  asked: number | null,
  slow: number | null,
): QueueCurve | null {
  const of = (op: number | null): QueueCurve | undefined => queues.find((queue) => queue.op === op)
  const nearest = ops.toSorted((a, b) => a.depth - b.depth).find((op) => of(op.op))
  return of(asked) ?? of(slow) ?? (nearest ? of(nearest.op) : undefined) ?? queues[0] ?? null
}
