// The pipeline of one step as a picture: what one rank of each stage did when, in stretches of forward and backward.
import type { PlanRank } from '../../api/schema'

export interface Stretch {
  readonly rank: number
  readonly phase: string
  readonly start: number
  readonly end: number
}

/** One captured rank of each pipeline stage: of the line (all other indices) that the given rank is in. */
export function stageRanks(ranks: readonly PlanRank[], line: PlanRank | undefined): readonly PlanRank[] {
  const same = (one: PlanRank): boolean =>
    line === undefined || (['dp', 'tp', 'cp'] as const).every((name) => one[name] === line[name])
  const stages = new Map<number, PlanRank>()
  for (const one of ranks) if (one.pp !== null && same(one) && !stages.has(one.pp)) stages.set(one.pp, one)
  return [...stages.values()].toSorted((a, b) => (a.pp ?? 0) - (b.pp ?? 0))
}

/** Kernels of a step, neighbours of one phase put together, on the run's clock. */
export function stretchesQuery(ranks: readonly number[], step: number): string {
  return `WITH work AS (
  SELECT s.rank, CAST(s.phase AS VARCHAR) AS phase, s.start_ns + coalesce(r.clock_offset_ns, 0) AS start_ns, s.dur_ns,
    lag(CAST(s.phase AS VARCHAR)) OVER (PARTITION BY s.rank ORDER BY s.start_ns) AS before
  FROM slices s JOIN ranks r USING (rank)
  WHERE s.rank IN (${ranks.join(', ')}) AND s.step = ${step} AND s.kind = 'kernel' AND s.phase IS NOT NULL),
numbered AS (
  SELECT *, sum(CASE WHEN before IS DISTINCT FROM phase THEN 1 ELSE 0 END)
    OVER (PARTITION BY rank ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS part FROM work)
SELECT rank, phase, min(start_ns) - (SELECT min(start_ns) FROM work) AS start,
  max(start_ns + dur_ns) - (SELECT min(start_ns) FROM work) AS "end", sum(dur_ns) AS busy
FROM numbered GROUP BY rank, phase, part ORDER BY rank, start`
}
