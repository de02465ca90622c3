// What groups are called where there is little room.
import type { Group } from '../../api/schema'
import { rankRanges } from './matrix'

/** Numbers and hashes that a library made up: nobody knows a group by them. */
const MADE_UP = /^(\d{6,}|[0-9a-f]{12,})$/i

/** Groups by what the job calls them; those that a library numbered, by their members. */
export function groupNames(groups: readonly Group[]): (id: string | null) => string {
  const names = new Map(groups.map((one) => [one.group, nameOf(one)]))
  return (id) => (id === null ? '–' : (names.get(id) ?? id))
}

function nameOf(group: Group): string {
  if (!MADE_UP.test(group.group)) return group.group
  if (group.name !== null && group.name !== group.group) return group.name
  return group.ranks.length === 0 ? group.group : `rank ${rankRanges(group.ranks)}`
}
