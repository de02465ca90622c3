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
