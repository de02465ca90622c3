// The parts of a step, which add up to it, with the colour that each has on every page.
import type { PlainKey } from '../../i18n/language.svelte'

export interface StepPart {
  readonly field: 'computing_us' | 'exposed_communication_us' | 'exposed_copy_us' | 'idle_us' | 'overlap_us'
  readonly title: PlainKey
  readonly colour: string
}

export const STEP_PARTS: readonly StepPart[] = [
  { field: 'computing_us', title: 'steps.computing', colour: '--compute' },
  { field: 'exposed_communication_us', title: 'steps.exposed_communication', colour: '--exposed' },
  { field: 'exposed_copy_us', title: 'steps.exposed_copy', colour: '--copy' },
  { field: 'idle_us', title: 'steps.idle', colour: '--idle' },
  { field: 'overlap_us', title: 'steps.overlap', colour: '--overlap' },
]

type Times = Readonly<Record<StepPart['field'], number | null>> & { readonly period_us: number | null }

/** A negative part as thin as this would only push the axis below zero. */
const LEAST_OVERLAP = 0.005
const WHOLE = { field: 'period_us', title: 'steps.period', colour: '--ink-3' } as const

/** What bars of these rows are made of: parts that some row has; without any, the whole step in one piece. */
export function drawnParts(rows: readonly Times[]): readonly (StepPart | typeof WHOLE)[] {
  const known = STEP_PARTS.filter(({ field }) =>
    rows.some((row) =>
      field === 'overlap_us'
        ? Math.abs(row.overlap_us ?? 0) > LEAST_OVERLAP * (row.period_us ?? Infinity)
        : row[field] !== null,
    ),
  )
  return known.length > 0 ? known : [WHOLE]
}
