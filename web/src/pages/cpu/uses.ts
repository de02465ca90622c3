// Users of processors: their names, and means over a stretch of time.
import { lookUp, t } from '../../i18n/language.svelte'

export interface User {
  readonly scope: string
  readonly id: number | null
  readonly name?: string | null
}

/** Order of scopes on the page. */
export const SCOPES = ['machine', 'process', 'worker', 'op'] as const

export function userName(user: User): string {
  if (user.name) return user.name
  if (user.scope === 'process' && user.id === null) return t('cpu.process_own')
  return lookUp(`cpu.${user.scope}_name`, { id: user.id ?? '' }) ?? `${user.scope} ${user.id ?? ''}`
}

/** Exact means between two absolute moments, from the samples themselves. */
export function rangeQuery(rank: number, from: string, to: string): string {
  return (
    `SELECT scope, id, count(*) AS samples, avg("user") AS user_cores, avg("system") AS system_cores ` +
    `FROM cpu WHERE rank = ${rank} AND time_ns BETWEEN ${from} AND ${to} GROUP BY scope, id`
  )
}

/** Parts of the machine that add up to its cores; null where the machine was not sampled completely. */
export function machineParts(rank: {
  readonly cores: number | null
  readonly process_cores: number | null
  readonly sibling_cores: number
  readonly other_cores: number | null
}): { readonly process: number; readonly siblings: number; readonly others: number; readonly idle: number } | null {
  const { cores, process_cores: process, sibling_cores: siblings, other_cores: others } = rank
  if (cores === null || process === null || others === null) return null
  return { process, siblings, others, idle: Math.max(0, cores - process - siblings - others) }
}
