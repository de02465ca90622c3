// What a row of the range statistics is called, and by what it is known again in another range.
import type { StatsEntry } from '../../api/timeline'
import { lookUp } from '../../i18n/language.svelte'
import type { RunModel } from '../../timeline/model'

export type StatsGrouping = 'name' | 'kind' | 'track'

/** The same for the same thing in every range. */
export function entryKey(entry: StatsEntry, by: StatsGrouping): string {
  if (by === 'track') return `${entry.rank}:${entry.track}`
  return (by === 'kind' ? entry.kind : entry.name) ?? ''
}

export function entryTitle(entry: StatsEntry, by: StatsGrouping, model: RunModel | null): string | null {
  if (by === 'name') return entry.name
  if (by === 'kind') return entry.kind === null ? null : (lookUp(`kind.${entry.kind}`) ?? entry.kind)
  const title = trackTitle(entry, model)
  return (model?.ranks.size ?? 0) > 1 ? `rank ${entry.rank} · ${title}` : title
}

/** Group and name of a track, as the column of names has them. */
function trackTitle(entry: StatsEntry, model: RunModel | null): string {
  for (const group of model?.ranks.get(entry.rank ?? -1)?.info.groups ?? []) {
    const track = group.tracks.find((one) => one.track === entry.track)
    if (track) return group.name === '' || group.name === track.name ? track.name : `${group.name} · ${track.name}`
  }
  return String(entry.track ?? '–')
}
