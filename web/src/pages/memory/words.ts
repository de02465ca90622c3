// Words and colours of memory that several parts of the page share.
import { lookUp } from '../../i18n/language.svelte'
import type { Memory, Owner, Site } from '../../api/schema'
import { said } from '../../state/texts.svelte'

const COLOURS: Readonly<Record<string, string>> = {
  weights: '--series-1',
  gradients: '--series-2',
  optimizer: '--series-3',
  activations: '--series-8',
  inputs: '--series-6',
  workspace: '--series-5',
  before_window: '--ink-3',
  other: '--idle',
}

export const categoryColour = (category: string): string => COLOURS[category] ?? '--idle'
export const categoryWord = (category: string): string => lookUp(`memory.cat.${category}`) ?? category
export const confidenceWord = (confidence: string): string => lookUp(`memory.conf.${confidence}`) ?? confidence
export const measureWord = (measure: string): string => lookUp(`memory.${measure}`) ?? measure

/** Who owns it: a place of the program, or in words what no block tells. */
export function ownerWord(owner: Owner): string {
  if (owner.kind === 'recorded' || owner.kind === 'before_window') return owner.owner
  return said('memory_owner', owner.kind)
}

export function reasonWord(site: Site): string {
  return said('leak_reason', site.reason, site.reason_values)
}

/** What other processes held when a request failed because of it: bytes of the device that is shown, 0 where none did. */
export function heldByOthers({
  rank,
  device,
  out_of_memory,
}: Pick<Memory, 'rank' | 'device' | 'out_of_memory'>): number {
  const failed = out_of_memory.filter((one) => one.cause === 'others' && one.rank === rank && one.device === device)
  return failed.reduce((most, one) => Math.max(most, one.others_bytes ?? 0), 0)
}
