// Words and colours of memory that several parts of the page share.
import { lookUp, t } from '../../i18n/language.svelte'
import type { Memory, Owner, Site } from '../../api/schema'
import { said } from '../../state/texts.svelte'

/** Colours of what is no category, so that none of a category's colours means two things on the page. */
export const AMOUNT_COLOUR = '--series-4'
export const SECOND_COLOUR = '--series-7'

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

/** What the answers call a place whose calls were not recorded. */
const NO_STACK = '(no stack)'

/** A place that allocates. */
export const siteWord = (site: string): string => site.replace(NO_STACK, t('memory.site_without_stack'))

/** Who owns it: a place of the program, or in words what no block tells. */
export function ownerWord(owner: Owner): string {
  if (owner.kind === 'recorded' || owner.kind === 'before_window') return siteWord(owner.owner)
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
