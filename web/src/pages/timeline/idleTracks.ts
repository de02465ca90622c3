// Tracks that do nothing in a stretch of time, though they do elsewhere: the first view has no room for them.
import type { RankTracks } from '../../api/timeline'
import type { TwoSides } from '../../api/twoSides'
import { trackKey, type TrackKey } from '../../timeline/trackState'
import type { Span } from '../../timeline/view'

/** More tracks are not told apart. */
const MOST_TRACKS = 500

/** `shift` is how far the rank is shown from where its clock has it. */
export async function idleTracks(
  api: Pick<TwoSides, 'stats'>,
  info: RankTracks,
  span: Span,
  shift: number,
  signal: AbortSignal,
): Promise<ReadonlySet<TrackKey>> {
  const { rank, groups } = info
  const withSlices = groups.flatMap((group) => group.tracks).filter((track) => track.slices > 0)
  if (withSlices.length > MOST_TRACKS) return new Set()
  const from = Math.floor(span.start)
  const request = {
    from_ns: from,
    to_ns: Math.max(from + 1, Math.ceil(span.end)),
    rows: [{ rank, shift_ns: Math.round(shift) }],
    by: 'track' as const,
    limit: MOST_TRACKS,
    gaps_limit: 0,
  }
  const { entries } = await api.stats(request, signal)
  const busy = new Set(entries.map((entry) => entry.track))
  return new Set(withSlices.filter(({ track }) => !busy.has(track)).map(({ track }) => trackKey(rank, track)))
}
