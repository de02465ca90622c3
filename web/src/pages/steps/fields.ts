// Fields of a step in the order of the table, with their words and fixed colours.
import type { Step } from '../../api/schema'
import type { PlainKey } from '../../i18n/language.svelte'

export interface Field {
  readonly id: (keyof Step & `${string}_us`) | 'free_rest_us'
  readonly text: PlainKey
  readonly colour?: string
}

/** The three phases of a step. */
export const PHASES: readonly Field[] = [
  { id: 'interval_us', text: 'steps.interval', colour: '--data' },
  { id: 'forward_backward_us', text: 'steps.forward_backward', colour: '--compute' },
  { id: 'tail_us', text: 'steps.tail', colour: '--communication' },
]

const FREE: Field = { id: 'free_us', text: 'steps.free', colour: '--idle' }
const ENCLOSING: Field = { id: 'enclosing_us', text: 'steps.enclosing', colour: '--enclosing' }

/** Parts of the device span. */
const DEVICE_PARTS: readonly Field[] = [
  { id: 'computing_us', text: 'steps.computing', colour: '--compute' },
  { id: 'exposed_communication_us', text: 'steps.exposed_communication', colour: '--exposed' },
  { id: 'exposed_copy_us', text: 'steps.exposed_copy', colour: '--copy' },
]

export const ALL_FIELDS: readonly Field[] = [
  { id: 'duration_us', text: 'steps.duration' },
  ...PHASES,
  { id: 'device_span_us', text: 'steps.device_span' },
  ...DEVICE_PARTS,
  FREE,
  ENCLOSING,
  { id: 'pure_computing_us', text: 'steps.pure_computing' },
  { id: 'communication_us', text: 'steps.communication' },
  { id: 'overlapped_us', text: 'steps.overlapped' },
  { id: 'receive_alone_us', text: 'steps.receive_alone' },
  { id: 'collective_alone_us', text: 'steps.collective_alone' },
  { id: 'preparing_us', text: 'steps.preparing' },
  { id: 'bubble_us', text: 'steps.bubble' },
  { id: 'stage_us', text: 'steps.stage' },
]

/**
 * Parts that add up to the device span of a step, exactly. Where the host computes, operators that hold others work
 * within what is free by definition: then that part is split.
 */
export function deviceParts(steps: readonly Step[]): readonly Field[] {
  const [computing, ...exposed] = knownFields(DEVICE_PARTS, steps)
  if (!computing) return []
  if (steps.every((step) => !step.enclosing_us)) return [computing, ...exposed, FREE]
  return [computing, ENCLOSING, ...exposed, { id: 'free_rest_us', text: 'steps.free_rest', colour: '--idle' }]
}

/** The value of a field of a step, of medians, or of a rank of the summary; null where it is not known. */
export function valueOf(field: Field, from: object): number | null {
  if (field.id !== 'free_rest_us' || field.id in from) return numberIn(from, field.id)
  const free = numberIn(from, 'free_us')
  return free === null ? null : Math.max(0, free - (numberIn(from, 'enclosing_us') ?? 0))
}

function numberIn(from: object, id: string): number | null {
  const value = (from as Readonly<Record<string, unknown>>)[id]
  return typeof value === 'number' ? value : null
}

/** Fields of which at least one step knows a value; time around operators only where there is any. */
export function knownFields(fields: readonly Field[], steps: readonly Step[]): readonly Field[] {
  return fields.filter((field) =>
    steps.some((step) => (field === ENCLOSING ? step.enclosing_us : valueOf(field, step) !== null)),
  )
}

/** Median of each field over steps; null where no step knows it. */
export function medians(steps: readonly Step[]): Record<string, number | null> {
  const fields = new Map([...ALL_FIELDS, ...deviceParts(steps)].map((field) => [field.id, field]))
  return Object.fromEntries(
    [...fields.values()].map((field) => [field.id, median(steps.map((step) => valueOf(field, step)))]),
  )
}

export interface PhaseLength {
  readonly field: Field | null
  readonly value: number
}

/** The phases in order of time; what nobody told apart (no field) stands where the first unknown phase would. */
export function phaseLengths(from: object): readonly PhaseLength[] {
  const known = PHASES.map((field) => ({ field, value: valueOf(field, from) }))
  const duration = numberIn(from, 'duration_us') ?? 0
  const rest = duration - known.reduce((sum, { value }) => sum + (value ?? 0), 0)
  const hole = known.findIndex(({ value }) => value === null)
  return known.flatMap(({ field, value }, index): PhaseLength[] => {
    if (value !== null) return [{ field, value }]
    return index === hole && rest > 0 && known.some((one) => one.value !== null) ? [{ field: null, value: rest }] : []
  })
}

export function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null).toSorted((a, b) => a - b)
  if (known.length === 0) return null
  const middle = (known.length - 1) / 2
  return ((known[Math.floor(middle)] as number) + (known[Math.ceil(middle)] as number)) / 2
}
