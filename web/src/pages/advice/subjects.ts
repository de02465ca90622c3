// What the sliders of the what-if change: the categories of a replay, and what findings accuse by name or number.
import type { Finding, RankSummary } from '../../api/schema'
import type { PlainKey } from '../../i18n/language.svelte'

export interface Subject {
  /** As a change names it: `data`, `rank:5`, or the name of an operator. */
  readonly id: string
  /** The word of a category; null for what has a name of its own. */
  readonly label: PlainKey | null
  readonly name: string
}

/** A rank cannot be scaled as a whole: it becomes like the others, or stays as it is. */
export const RANK = 'rank:'
const MOST_NAMED = 6
/** What these accuse takes memory: a replay of time has nothing to say of it. */
const OF_MEMORY: ReadonlySet<string> = new Set(['memory_pressure', 'memory_leak', 'memory_fragmentation'])
/** The kinds of findings that a category of the replay explains. */
const CATEGORIES: readonly (readonly [id: string, label: PlainKey, kinds: readonly string[]])[] = [
  ['data', 'advice.subject_data', ['data_starved']],
  ['host', 'advice.subject_host', ['host_bound', 'idle_gap', 'kernel_fusion']],
  ['communication', 'advice.subject_communication', ['exposed_communication', 'slow_link', 'small_packets']],
  ['sync', 'advice.subject_sync', ['sync_stall']],
  ['gc', 'advice.subject_gc', ['gc_pause']],
  ['compile', 'advice.subject_compile', ['operator_compile']],
  ['copies', 'advice.subject_copies', []],
  ['layout', 'advice.subject_layout', ['layout_conversion']],
]
/** What was recorded of a rank's mean step. */
export type Recorded = Pick<RankSummary, 'idle_by_cause' | 'exposed_communication_us' | 'exposed_copy_us'>
/** Time of a step that a category could save; of other categories only what findings accuse is offered. */
const TIMES: Readonly<Record<string, (of: Recorded) => number | null | undefined>> = {
  data: (of) => of.idle_by_cause?.data_us,
  host: (of) => of.idle_by_cause?.host_us,
  communication: (of) => of.exposed_communication_us,
  copies: (of) => of.exposed_copy_us,
}

/** Sliders worth showing: what findings accuse first, then what else takes time in a step. Only known ranks can change. */
export function subjectsOf(
  findings: readonly Finding[],
  recorded: Recorded | undefined,
  known: readonly number[],
): readonly Subject[] {
  const kinds = new Set(findings.map((one) => one.kind))
  const accused = (of: readonly string[]): boolean => of.some((kind) => kinds.has(kind))
  const takesTime = (id: string): boolean => ((recorded && TIMES[id]?.(recorded)) ?? 0) > 0
  const ranks = findings
    .filter((one) => one.kind === 'slow_rank')
    .flatMap((one) => one.ranks.filter((rank) => known.includes(rank)))
  const operators = findings
    .filter((one) => !OF_MEMORY.has(one.kind))
    .flatMap((one) => (one.where.operator ? [one.where.operator] : []))
  const named: Subject[] = [
    ...[...new Set(ranks)].map((rank) => ({ id: `${RANK}${rank}`, label: null, name: `rank ${rank}` })),
    ...[...new Set(operators)].map((name) => ({ id: name, label: null, name })),
  ]
  const categories = CATEGORIES.filter(([id, , of]) => accused(of) || takesTime(id))
    .toSorted((a, b) => Number(accused(b[2])) - Number(accused(a[2])))
    .map(([id, label]) => ({ id, label, name: id }))
  return [...named.slice(0, MOST_NAMED), ...categories]
}

/** The changes of sliders that were moved, in the words of `whatif`; 1 is as recorded. */
export function changesOf(factors: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(factors)
    .filter(([, factor]) => factor !== 1)
    .map(([id, factor]) => (id.startsWith(RANK) ? `${id}=median` : `${id}*${factor}`))
}

/** Factors as the address keeps them: `data*0.5;rank:5*0`. */
export function readFactors(text: string | undefined): Record<string, number> {
  const pieces = (text ?? '').split(';').map((piece) => /^(.+)\*(\d+(?:\.\d+)?)$/.exec(piece))
  return Object.fromEntries(pieces.flatMap((piece) => (piece ? [[piece[1] ?? '', Number(piece[2])]] : [])))
}

export function writeFactors(factors: Readonly<Record<string, number>>): string | null {
  const moved = Object.entries(factors).filter(([, factor]) => factor !== 1)
  return moved.length > 0 ? moved.map(([id, factor]) => `${id}*${factor}`).join(';') : null
}
