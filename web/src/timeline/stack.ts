// The same track of many ranks, below each other: which ranks, and which of their tracks.
import type { RankTracks, Track } from '../api/timeline'

/** More ranks are not stacked: nobody compares more rows, and each asks for its tracks. */
export const MOST_STACKED = 64

/** A track that other ranks have too: by its name, else by its place among the tracks of its kind. */
export interface StackedTrack {
  readonly name: string
  readonly groupKind: string
  readonly place: number
}

function tracksOfKind(info: RankTracks, groupKind: string): readonly Track[] {
  return info.groups.filter((group) => group.kind === groupKind).flatMap((group) => group.tracks)
}

/** What a track is on any rank; null for one that the rank does not have. */
export function stackedTrack(info: RankTracks, track: number): StackedTrack | null {
  for (const { kind } of info.groups) {
    const tracks = tracksOfKind(info, kind)
    const place = tracks.findIndex((one) => one.track === track)
    const found = tracks[place]
    if (found) return { name: found.name, groupKind: kind, place }
  }
  return null
}

/** The same track of another rank; threads are often named by a number that differs from rank to rank. */
export function trackOfRank(info: RankTracks, wanted: StackedTrack): Track | null {
  const tracks = tracksOfKind(info, wanted.groupKind)
  return tracks.find((one) => one.name === wanted.name) ?? tracks[wanted.place] ?? null
}

/** `3.7`: rank and track, as they stand in the address. */
export function stackFromText(text: string | undefined): { readonly rank: number; readonly track: number } | null {
  const match = /^(\d+)\.(\d+)$/.exec(text ?? '')
  return match ? { rank: Number(match[1]), track: Number(match[2]) } : null
}
