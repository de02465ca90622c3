// Idle stretches of the device from the rows themselves, where no launches tell their causes.
import type { RowRange } from '../../api/timeline'
import type { TourStop } from '../../timeline/tour'
import type { TimelineStore } from './store.svelte'

const LIMIT = 200

/** The longest first; without the times before the first and behind the last work. */
export async function idleStretches(store: TimelineStore, rank: number, signal: AbortSignal): Promise<TourStop[]> {
  const { gaps } = await store.api.stats(
    {
      from_ns: 0,
      to_ns: Math.max(1, Math.ceil(store.model?.length ?? 0)),
      rows: deviceRows(store, rank),
      by: 'kind',
      limit: 1,
      gaps_limit: LIMIT,
    },
    signal,
  )
  return gaps.largest
    .filter((gap) => gap.before !== null && gap.after !== null)
    .map(({ at_ns, dur_ns, after }) => ({
      rank,
      start: at_ns,
      end: at_ns + dur_ns,
      name: after?.name ?? '',
      reason: '',
      slices: [],
      row: null,
    }))
}

/** Streams and planes; on a machine without accelerator every row. */
function deviceRows(store: TimelineStore, rank: number): RowRange[] {
  const groups = store.model?.ranks.get(rank)?.info.groups ?? []
  const rows = groups
    .filter((group) => group.kind === 'device')
    .flatMap((group) => group.tracks)
    .filter((track) => track.rows > 0)
    .map((track) => ({ rank, first_row: track.first_row, last_row: track.first_row + track.rows - 1 }))
  return rows.length > 0 ? rows : [{ rank }]
}
