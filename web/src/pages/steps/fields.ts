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
  { id: 'interval_us', text: 'steps.interval', colour: '--phase-interval' },
  { id: 'forward_backward_us', text: 'steps.forward_backward', colour: '--phase-work' },
  { id: 'tail_us', text: 'steps.tail', colour: '--phase-tail' },
]

/** Parts of the period; they add up to it. */
const PERIOD_PARTS: readonly Field[] = [
  { id: 'computing_us', text: 'steps.computing', colour: '--compute' },
  { id: 'exposed_communication_us', text: 'steps.exposed_communication', colour: '--exposed' },
  { id: 'exposed_copy_us', text: 'steps.exposed_copy', colour: '--copy' },
  { id: 'idle_us', text: 'steps.idle', colour: '--idle' },
]
/** Closes the sum where neighbouring steps overlap on the device. */
const OVERLAP: Field = { id: 'overlap_us', text: 'steps.overlap', colour: '--overlap' }

export const ALL_FIELDS: readonly Field[] = [
  { id: 'period_us', text: 'steps.period' },
  ...PERIOD_PARTS,
  OVERLAP,
  { id: 'duration_us', text: 'steps.duration' },
  ...PHASES,
  { id: 'device_span_us', text: 'steps.device_span' },
  { id: 'free_us', text: 'steps.free' },
  { id: 'enclosing_us', text: 'steps.enclosing' },
  { id: 'pure_computing_us', text: 'steps.pure_computing' },
  { id: 'communication_us', text: 'steps.communication' },
  { id: 'overlapped_us', text: 'steps.overlapped' },
  { id: 'receive_alone_us', text: 'steps.receive_alone' },
  { id: 'collective_alone_us', text: 'steps.collective_alone' },
  { id: 'preparing_us', text: 'steps.preparing' },
  { id: 'bubble_us', text: 'steps.bubble' },
  { id: 'stage_us', text: 'steps.stage' },
]

/** What a table of steps shows before more is asked for: the period, its parts and its phases. */
export const FIRST_FIELDS: ReadonlySet<string> = new Set([
  'period_us',
  ...[...PERIOD_PARTS, OVERLAP, ...PHASES].map((field) => field.id),
])

/** Parts that add up to the period of a step, exactly; none where the steps know nothing of the device. */
export function periodParts(steps: readonly Step[]): readonly Field[] {
  const known = knownFields(PERIOD_PARTS, steps)
  return known.length > 0 && steps.some((step) => step.overlap_us) ? [...known, OVERLAP] : known
}

/** The value of a field of a step, or of a rank of the summary; null where it is not known. */
export function valueOf(field: Field, from: object): number | null {
  return numberIn(from, field.id)
}

function numberIn(from: object, id: string): number | null {
  const value = (from as Readonly<Record<string, unknown>>)[id]
  return typeof value === 'number' ? value : null
}

/** Fields of which at least one step knows a value; what is rare only where there is any. */
export function knownFields(fields: readonly Field[], steps: readonly Step[]): readonly Field[] {
  const rare = (field: Field): boolean => field === OVERLAP || field.id === 'enclosing_us'
  return fields.filter((field) =>
    steps.some((step) => (rare(field) ? Boolean(valueOf(field, step)) : valueOf(field, step) !== null)),
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
  // A step without a backward pass has no tail: nothing is unknown behind its forward pass.
  const ends = known[1]?.value !== null && known[2]?.value === null ? 2 : known.length
  const hole = known.slice(0, ends).findIndex(({ value }) => value === null)
  return known.flatMap(({ field, value }, index): PhaseLength[] => {
    if (value !== null) return [{ field, value }]
    return index === hole && rest > 0 && known.some((one) => one.value !== null) ? [{ field: null, value: rest }] : []
  })
}
