// The selected area as a query: what the table of the range counts, for those who want to go on in SQL.
import type { Offsets } from './align'
import type { RangeSelection } from './selection'
import type { RunModel } from './model'

/** A query over the slices of the area, by name. */
export function areaQuery(
  model: RunModel,
  range: RangeSelection,
  ranks: readonly number[],
  offsets: Offsets = new Map(),
): string {
  const parts = ranks.flatMap((rank) => {
    const where = conditions(model, range, rank, offsets.get(rank) ?? 0)
    return where === null ? [] : [where]
  })
  return [
    'SELECT name, kind, count(*) AS count, sum(dur_ns) AS total_ns, max(dur_ns) AS longest_ns',
    'FROM slices',
    `WHERE ${parts.join('\n   OR ') || 'false'}`,
    'GROUP BY name, kind',
    'ORDER BY total_ns DESC',
  ].join('\n')
}

/** What a slice of a rank must be: on one of the tracks, and touching the stretch on the rank's own clock. */
function conditions(model: RunModel, range: RangeSelection, rank: number, offset: number): string | null {
  const info = model.ranks.get(rank)?.info
  const rows = range.rows.filter((one) => one.rank === rank)
  if (!info || (range.rows.length > 0 && rows.length === 0)) return null
  const zero = BigInt(model.tracks.origin_ns) - BigInt(info.clock_offset_ns)
  const from = zero + BigInt(Math.floor(range.start) - offset)
  const to = zero + BigInt(Math.ceil(range.end) - offset)
  const words = [`rank = ${rank}`, `start_ns < ${to}`, `start_ns + dur_ns > ${from}`]
  if (rows.length > 0) {
    const groups = info.groups.map((group) => ({
      python: group.kind === 'python',
      tracks: group.tracks
        .filter((track) =>
          rows.some((row) => row.first_row < track.first_row + track.rows && row.last_row >= track.first_row),
        )
        .map((track) => track.stored_track),
    }))
    // Python frames are stored with their thread.
    const listed = (python: boolean): string =>
      groups
        .filter((group) => group.python === python)
        .flatMap((group) => group.tracks)
        .join(', ')
    const plain = listed(false)
    const frames = listed(true)
    const either = [
      plain && `track IN (${plain})${hasPython(info.groups) ? " AND kind <> 'python'" : ''}`,
      frames && `track IN (${frames}) AND kind = 'python'`,
    ].filter(Boolean)
    words.push(either.length > 1 ? `(${either.map((one) => `(${one})`).join(' OR ')})` : String(either[0] ?? 'false'))
  }
  return `(${words.join(' AND ')})`
}

function hasPython(groups: readonly { readonly kind: string }[]): boolean {
  return groups.some((group) => group.kind === 'python')
}
