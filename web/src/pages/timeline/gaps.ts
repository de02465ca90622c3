// The next idle gap of the device: with its cause where launches are known, else from the rows themselves.
import { analysis } from '../../api/documents'
import type { Launches } from '../../api/schema'
import type { RowRange } from '../../api/timeline'
import { durationNs } from '../../format/units'
import { t } from '../../i18n/language.svelte'
import { said } from '../../state/texts.svelte'
import type { TimelineStore } from './store.svelte'

const LIMIT = 500

interface Found {
  readonly at_ns: number
  readonly dur_ns: number
  readonly words: string
}

/** Show the next gap and return what to say about it; null when there is none. */
export async function findGap(store: TimelineStore): Promise<string | null> {
  const rank = store.gap?.rank ?? store.session.rank
  if (!store.model || rank === undefined) return null
  const after = store.gap ? store.gap.at_ns + store.gap.dur_ns : Math.max(0, store.view.start)
  const known = store.session.run?.analyses.includes('launches') ?? false
  const found = (known ? await explained(store, rank, after) : null) ?? (await bare(store, rank, after))
  if (!found) return null
  store.gap = { rank, at_ns: found.at_ns, dur_ns: found.dur_ns }
  const offset = store.offsets.get(rank) ?? 0
  const room = Math.max(found.dur_ns, (store.view.end - store.view.start) / 8)
  store.view.show({ start: found.at_ns + offset - room, end: found.at_ns + found.dur_ns + offset + room })
  store.moved()
  return found.words
}

async function explained(store: TimelineStore, rank: number, after: number): Promise<Found | null> {
  const origin = BigInt(store.model?.tracks.origin_ns ?? '0')
  const shift = BigInt(store.model?.ranks.get(rank)?.info.clock_offset_ns ?? '0')
  try {
    const { data } = await analysis<Launches>(store.session.runId ?? '', 'launches', { rank, gaps: LIMIT })
    const gaps = data.gaps
      .map((gap) => ({ gap, at_ns: Number(BigInt(gap.start_ns) + shift - origin), dur_ns: gap.duration_us * 1000 }))
      .filter((one) => one.at_ns >= after && one.gap.duration_us >= data.least_gap_us)
      .toSorted((a, b) => a.at_ns - b.at_ns)
    const next = gaps[0]
    if (!next) return null
    const cause = said('idle_cause', next.gap.cause)
    const host = next.gap.host_name ?? next.gap.sync_name
    return {
      ...next,
      words: t('timeline.gap_is', { length: durationNs(next.dur_ns), cause: host ? `${cause} (${host})` : cause }),
    }
  } catch {
    // A capture without steps or launches has no causes; its gaps are still there.
    return null
  }
}

async function bare(store: TimelineStore, rank: number, after: number): Promise<Found | null> {
  const from = Math.floor(after)
  const { gaps } = await store.api.stats({
    from_ns: from,
    to_ns: Math.max(from + 1, Math.ceil(store.model?.length ?? 0)),
    rows: deviceRows(store, rank),
    by: 'kind',
    limit: 1,
    gaps_limit: LIMIT,
  })
  const inner = gaps.largest.filter((gap) => gap.before !== null && gap.after !== null)
  const next = inner.toSorted((a, b) => a.at_ns - b.at_ns)[0]
  return next ? { ...next, words: durationNs(next.dur_ns) } : null
}

/** Streams and planes; on a machine without accelerator every row. */
function deviceRows(store: TimelineStore, rank: number): RowRange[] {
  const groups = store.model?.ranks.get(rank)?.info.groups ?? []
  const device = groups.filter((group) => group.kind === 'device').flatMap((group) => group.tracks)
  const rows = device
    .filter((track) => track.rows > 0 && (track.kind === 'stream' || track.kind === 'plane'))
    .map((track) => ({ rank, first_row: track.first_row, last_row: track.first_row + track.rows - 1 }))
  return rows.length > 0 ? rows : [{ rank }]
}
