// The order of the list of runs.
import type { RunSummary } from '../../api/runs'

export interface RunOrder {
  /** `list`: as the server has them. */
  readonly by: 'list' | 'name' | 'verdict' | 'period' | 'recorded' | 'device' | 'ranks' | 'steps' | 'size'
  readonly descending: boolean
}

const WEIGHT: Readonly<Record<string, number>> = { critical: 4, warning: 3, info: 2, healthy: 1 }

/** Runs in order; those of which it is not known come last. */
export function inOrder(
  runs: readonly RunSummary[],
  { by, descending }: RunOrder,
  nameOf: (run: RunSummary) => string,
): readonly RunSummary[] {
  if (by === 'list') return runs
  const value = (run: RunSummary): number | string | bigint | null => {
    if (by === 'name') return nameOf(run)
    if (by === 'verdict') return run.verdict ? (WEIGHT[run.verdict.severity] ?? 0) : null
    if (by === 'period') return run.verdict?.period_us ?? null
    if (by === 'recorded') return run.recorded_ns == null ? null : BigInt(run.recorded_ns)
    if (by === 'device') return run.device_names?.[0] ?? run.devices?.[0] ?? null
    return (by === 'size' ? run.source_bytes : run[by]) ?? null
  }
  const sign = descending ? -1 : 1
  return runs.toSorted((a, b) => {
    const [first, second] = [value(a), value(b)]
    if (first === null || second === null) return Number(first === null) - Number(second === null)
    if (typeof first === 'string' || typeof second === 'string')
      return sign * String(first).localeCompare(String(second), undefined, { numeric: true })
    return first < second ? -sign : first > second ? sign : 0
  })
}
