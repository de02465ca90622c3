// Fields of a step in the order of the table, with their words and fixed colours.
import type { Step } from '../../api/schema'
import type { PlainKey } from '../../i18n/language.svelte'

export interface Field {
  readonly id: keyof Step & `${string}_us`
  readonly text: PlainKey
  readonly colour?: string
}

/** The three phases of a step. */
export const PHASES: readonly Field[] = [
  { id: 'interval_us', text: 'steps.interval', colour: '--data' },
  { id: 'forward_backward_us', text: 'steps.forward_backward', colour: '--compute' },
  { id: 'tail_us', text: 'steps.tail', colour: '--communication' },
]

/** Parts that add up to the device span, exactly. */
export const DEVICE_PARTS: readonly Field[] = [
  { id: 'computing_us', text: 'steps.computing', colour: '--compute' },
  { id: 'exposed_communication_us', text: 'steps.exposed_communication', colour: '--exposed' },
  { id: 'exposed_copy_us', text: 'steps.exposed_copy', colour: '--copy' },
  { id: 'free_us', text: 'steps.free', colour: '--idle' },
]

export const ALL_FIELDS: readonly Field[] = [
  { id: 'duration_us', text: 'steps.duration' },
  ...PHASES,
  { id: 'device_span_us', text: 'steps.device_span' },
  ...DEVICE_PARTS,
  { id: 'pure_computing_us', text: 'steps.pure_computing' },
  { id: 'communication_us', text: 'steps.communication' },
  { id: 'overlapped_us', text: 'steps.overlapped' },
  { id: 'receive_alone_us', text: 'steps.receive_alone' },
  { id: 'collective_alone_us', text: 'steps.collective_alone' },
  { id: 'preparing_us', text: 'steps.preparing' },
  { id: 'bubble_us', text: 'steps.bubble' },
  { id: 'stage_us', text: 'steps.stage' },
]

/** Fields of which at least one step knows a value. */
export function knownFields(fields: readonly Field[], steps: readonly Step[]): readonly Field[] {
  return fields.filter((field) => steps.some((step) => step[field.id] !== null))
}

/** Median of each field over steps; null where no step knows it. */
export function medians(steps: readonly Step[]): Record<string, number | null> {
  return Object.fromEntries(ALL_FIELDS.map((field) => [field.id, median(steps.map((step) => step[field.id]))]))
}

export function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null).toSorted((a, b) => a - b)
  if (known.length === 0) return null
  const middle = (known.length - 1) / 2
  return ((known[Math.floor(middle)] as number) + (known[Math.ceil(middle)] as number)) / 2
}
