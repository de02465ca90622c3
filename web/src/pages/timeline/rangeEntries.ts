// What a row of the range statistics is called, and by what it is known again in another range.
import type { StatsEntry } from '../../api/timeline'
import { lookUp } from '../../i18n/language.svelte'
import type { RunModel } from '../../timeline/model'
import { rankName } from './rankName'

export type StatsGrouping = 'name' | 'kind' | 'track'

/** The same for the same thing in every range. */
export function entryKey(entry: StatsEntry, by: StatsGrouping): string {
  if (by === 'track') return `${entry.rank}:${entry.track}`
  // A name is counted apart for each kind: what the host calls `all_reduce` is not what the device does of it.
  return JSON.stringify(by === 'kind' ? entry.kind : [entry.name, entry.kind])
}

/** Names that stand for several kinds, which their rows must tell. */
export function ambiguousNames(entries: readonly StatsEntry[]): ReadonlySet<string | null> {
  const seen = new Set<string | null>()
  return new Set(entries.map((entry) => entry.name).filter((name) => seen.size === seen.add(name).size))
}

export function entryTitle(
  entry: StatsEntry,
  by: StatsGrouping,
  model: RunModel | null,
  ambiguous: ReadonlySet<string | null> = new Set(),
): string | null {
  const kind = entry.kind === null ? null : (lookUp(`kind.${entry.kind}`) ?? entry.kind)
  if (by === 'name') return ambiguous.has(entry.name) ? `${entry.name} · ${kind}` : entry.name
  if (by === 'kind') return kind
  const title = trackTitle(entry, model)
  return (model?.ranks.size ?? 0) > 1 && entry.rank !== null ? `${rankName(entry.rank)} · ${title}` : title
}

/** Group and name of a track, as the column of names has them. */
function trackTitle(entry: StatsEntry, model: RunModel | null): string {
  for (const group of model?.ranks.get(entry.rank ?? -1)?.info.groups ?? []) {
    const track = group.tracks.find((one) => one.track === entry.track)
    if (track) return group.name === '' || group.name === track.name ? track.name : `${group.name} · ${track.name}`
  }
  return String(entry.track ?? '–')
}
