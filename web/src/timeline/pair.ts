// Two ranks that are compared: which track of the one is the same as which of the other.
import type { RankTracks, Track } from '../api/timeline'

/** By kind of group and name; names that differ in a number alone, such as those of threads, in their order. */
export function twinTracks(lead: RankTracks, twin: RankTracks): ReadonlyMap<Track, Track> {
  const same = new Map<Track, Track>()
  for (const kind of new Set(lead.groups.map((group) => group.kind))) {
    const left = tracksOfKind(twin, kind)
    const take = (track: Track, isSame: (other: Track) => boolean): void => {
      const at = left.findIndex(isSame)
      const [found] = at < 0 ? [] : left.splice(at, 1)
      if (found) same.set(track, found)
    }
    const own = tracksOfKind(lead, kind)
    for (const track of own) take(track, (other) => other.name === track.name)
    for (const track of own)
      if (!same.has(track))
        // A stream with work is no quiet one.
        take(track, (other) => unnumbered(other.name) === unnumbered(track.name) && other.quiet === track.quiet)
  }
  return same
}

function unnumbered(name: string): string {
  return name.replaceAll(/\d+/g, '#')
}

function tracksOfKind(info: RankTracks, kind: string): Track[] {
  return info.groups.filter((group) => group.kind === kind).flatMap((group) => group.tracks)
}
