// The order of a rank's tracks: device work first, then who launches it, then the rest; what is seldom asked for is folded.
import type { RankTracks, Track, TrackGroup } from '../api/timeline'
import { groupKey, type TrackKey } from './trackState'

export interface OrderedGroup {
  readonly key: TrackKey
  readonly kind: string
  readonly name: string
  readonly folded: boolean
  readonly tracks: readonly Track[]
}

/** Launching threads are the host's; its other threads come with the rest. */
const ORDER: readonly string[] = ['device', 'launching', 'memory', 'host', 'counter', 'python', 'vendor', 'marks']
/** Closed until asked for: many tracks, seldom the first question. */
const FOLDED: ReadonlySet<string> = new Set(['counter', 'python', 'vendor', 'marks'])
/** What a thread does that gives the device work. */
const LAUNCHING: ReadonlySet<string> = new Set(['runtime', 'collective', 'operator'])

/** `kinds` are the names of the codes that tracks list; `first` names a kind of group to put before all others. */
export function orderedGroups(
  rank: RankTracks,
  kinds: readonly string[],
  first: string | null,
): readonly OrderedGroup[] {
  const launches = (track: Track): boolean => track.kinds.some((code) => LAUNCHING.has(kinds[code] ?? ''))
  const sortOf = (group: TrackGroup): number => {
    if (group.kind === first) return -1
    return ORDER.indexOf(group.kind === 'host' && group.tracks.some(launches) ? 'launching' : group.kind)
  }
  return rank.groups
    .map((group, index) => ({ group, index }))
    .toSorted((a, b) => sortOf(a.group) - sortOf(b.group))
    .map(({ group, index }) => ({
      key: groupKey(rank.rank, index),
      kind: group.kind,
      name: group.name,
      folded: FOLDED.has(group.kind) && group.kind !== first,
      // A thread that launches nothing comes behind those that do.
      tracks:
        group.kind === 'host'
          ? group.tracks.toSorted((a, b) => Number(launches(b)) - Number(launches(a)))
          : group.tracks,
    }))
}
