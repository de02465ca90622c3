// From tracks and what the user did to them to boxes with a place: pinned ones on top, the others below, scrolled.
import type { RankTracks, TrackGroup, Track } from '../api/timeline'
import { groupKey, lanesKey, ordered, trackKey, type TrackKey, type TrackState } from './trackState'
import { LANES_BLOCK } from './tiles/key'

export type BoxKind = 'rank' | 'group' | 'track' | 'lanes' | 'counter' | 'hidden'

export interface Box {
  readonly kind: BoxKind
  readonly key: TrackKey
  readonly rank: number
  readonly y: number
  readonly height: number
  /** First row within the rank, or within the lanes block. */
  readonly firstRow: number
  readonly rows: number
  readonly rowHeight: number
  readonly folded: boolean
  readonly title: string
  readonly track: Track | null
  readonly group: TrackKey | null
}

export interface Layout {
  readonly pinned: readonly Box[]
  readonly pinnedHeight: number
  readonly scrolled: readonly Box[]
  readonly scrolledHeight: number
}

export const ROW_HEIGHT = 18
const LANE_HEIGHT = 15
const RANK_HEIGHT = 26
const GROUP_HEIGHT = 22
const COUNTER_HEIGHT = 44
const FOLDED_ROW = 3
const FOLDED_LEAST = 20
const FOLDED_MOST = 60
export const LANE_ROWS = 5

/** Host work above device work; host lanes that hold only marks and spans of the profiler below both. */
const GROUP_ORDER: readonly string[] = ['host', 'device', 'marks', 'counter', 'vendor']
const HOST_WORK: ReadonlySet<string> = new Set([
  'operator',
  'runtime',
  'python',
  'module',
  'sync',
  'gc',
  'collective',
  'step',
])
/** Closed until asked for: many lanes, seldom the first question. */
const FOLDED_GROUPS: ReadonlySet<TrackGroup['kind']> = new Set(['counter', 'vendor'])

type Unplaced = Omit<Box, 'y'>

/** `kinds` are the names of the codes that tracks list. */
export function layOut(
  ranks: readonly RankTracks[],
  state: TrackState,
  filter = '',
  kinds: readonly string[] = [],
): Layout {
  const scrolled: Unplaced[] = []
  const pinnable = new Map<TrackKey, Unplaced>()
  for (const rank of ranks) {
    scrolled.push(heading('rank', `${rank.rank}.r`, rank.rank, RANK_HEIGHT, rankTitle(rank)))
    if (rank.has_lanes) offer(lanesBox(rank, state), state, scrolled, pinnable)
    for (const [group, key] of sortedGroups(rank, kinds)) addGroup(rank, group, key, state, filter, scrolled, pinnable)
    const hidden = state.hidden.filter((key) => key.startsWith(`${rank.rank}.`)).length
    if (hidden > 0) scrolled.push(heading('hidden', `${rank.rank}.h`, rank.rank, GROUP_HEIGHT, String(hidden)))
  }
  const pinned = state.pinned.flatMap((key) => pinnable.get(key) ?? [])
  const [pinnedBoxes, pinnedHeight] = place(pinned)
  const [scrolledBoxes, scrolledHeight] = place(scrolled)
  return { pinned: pinnedBoxes, pinnedHeight, scrolled: scrolledBoxes, scrolledHeight }
}

function addGroup(
  rank: RankTracks,
  group: TrackGroup,
  key: TrackKey,
  state: TrackState,
  filter: string,
  scrolled: Unplaced[],
  pinnable: Map<TrackKey, Unplaced>,
): void {
  const wanted = group.tracks.filter((track) => matches(track, group, filter))
  const byKey = new Map(wanted.map((track) => [trackKey(rank.rank, track.track), track]))
  const keys = ordered([...byKey.keys()], state.moved)
  const visible = keys.filter((one) => !state.hidden.includes(one))
  if (visible.length === 0) return
  // A filter is a question about tracks: what it finds is shown open.
  const folded = filter === '' && FOLDED_GROUPS.has(group.kind) !== state.toggled.includes(key)
  scrolled.push({ ...heading('group', key, rank.rank, GROUP_HEIGHT, group.name), folded, rows: visible.length })
  for (const one of visible) {
    const box = trackBox(rank, byKey.get(one) as Track, one, key, state)
    if (folded) pinnable.set(one, box)
    else offer(box, state, scrolled, pinnable)
  }
}

/** A box goes where it belongs: to the pinned ones, or among the others. */
function offer(box: Unplaced, state: TrackState, scrolled: Unplaced[], pinnable: Map<TrackKey, Unplaced>): void {
  if (state.hidden.includes(box.key)) return
  pinnable.set(box.key, box)
  if (!state.pinned.includes(box.key)) scrolled.push(box)
}

function trackBox(rank: RankTracks, track: Track, key: TrackKey, group: TrackKey, state: TrackState): Unplaced {
  const folded = state.toggled.includes(key)
  const common = { key, rank: rank.rank, folded, title: track.name, track, group }
  if (track.counter) {
    const height = folded ? FOLDED_LEAST : COUNTER_HEIGHT
    return { ...common, kind: 'counter', height, firstRow: 0, rows: 1, rowHeight: height }
  }
  const rows = Math.max(1, track.rows)
  const height = folded ? Math.min(FOLDED_MOST, Math.max(FOLDED_LEAST, rows * FOLDED_ROW)) : rows * ROW_HEIGHT + 2
  const rowHeight = folded ? height / rows : ROW_HEIGHT
  return { ...common, kind: 'track', height, firstRow: track.first_row, rows: track.rows, rowHeight }
}

function lanesBox(rank: RankTracks, state: TrackState): Unplaced {
  const key = lanesKey(rank.rank)
  const folded = state.toggled.includes(key)
  const rowHeight = folded ? FOLDED_LEAST / LANE_ROWS : LANE_HEIGHT
  const height = rowHeight * LANE_ROWS + (folded ? 0 : 2)
  return {
    kind: 'lanes',
    key,
    rank: rank.rank,
    height,
    firstRow: 0,
    rows: LANE_ROWS,
    rowHeight,
    folded,
    title: '',
    track: null,
    group: null,
  }
}

function heading(kind: BoxKind, key: TrackKey, rank: number, height: number, title: string): Unplaced {
  return { kind, key, rank, height, firstRow: 0, rows: 0, rowHeight: 0, folded: false, title, track: null, group: null }
}

function rankTitle(rank: RankTracks): string {
  return [rank.host, rank.device_name ?? rank.device_kind].filter(Boolean).join(' · ')
}

function sortedGroups(rank: RankTracks, kinds: readonly string[]): [TrackGroup, TrackKey][] {
  const orderOf = (group: TrackGroup): number => GROUP_ORDER.indexOf(sortOf(group, kinds))
  return rank.groups
    .map((group, index): [TrackGroup, TrackKey] => [group, groupKey(rank.rank, index)])
    .toSorted(([a], [b]) => orderOf(a) - orderOf(b))
}

function sortOf(group: TrackGroup, kinds: readonly string[]): string {
  if (group.kind !== 'host' || kinds.length === 0) return group.kind
  const works = group.tracks.some((track) => track.kinds.some((code) => HOST_WORK.has(kinds[code] ?? '')))
  return works ? 'host' : 'marks'
}

function matches(track: Track, group: TrackGroup, filter: string): boolean {
  const text = filter.trim().toLowerCase()
  return text === '' || track.name.toLowerCase().includes(text) || group.name.toLowerCase().includes(text)
}

function place(boxes: readonly Unplaced[]): [Box[], number] {
  let y = 0
  const placed = boxes.map((box) => {
    const at = y
    y += box.height
    return { ...box, y: at }
  })
  return [placed, y]
}

/** Boxes that touch [top, bottom). */
export function boxesBetween(boxes: readonly Box[], top: number, bottom: number): readonly Box[] {
  let low = 0
  let high = boxes.length
  while (low < high) {
    const middle = (low + high) >> 1
    const box = boxes[middle] as Box
    if (box.y + box.height <= top) low = middle + 1
    else high = middle
  }
  let end = low
  while (end < boxes.length && (boxes[end] as Box).y < bottom) end += 1
  return boxes.slice(low, end)
}

/** The box at a height, or null. */
export function boxAt(boxes: readonly Box[], y: number): Box | null {
  const box = boxesBetween(boxes, y, y + 1e-9)[0]
  return box && y >= box.y ? box : null
}

/** The row of a box at a height: its number within the rank (or the lanes). */
export function rowAt(box: Box, y: number): number | null {
  if (box.kind !== 'track' && box.kind !== 'lanes') return null
  const row = Math.floor((y - box.y) / box.rowHeight)
  return row >= 0 && row < box.rows ? box.firstRow + row : null
}

/** Where a row of a rank lies in a list of boxes: its middle, or null when it is not shown. */
export function rowMiddle(boxes: readonly Box[], rank: number, row: number): number | null {
  const box = boxes.find(
    (one) => one.kind === 'track' && one.rank === rank && row >= one.firstRow && row < one.firstRow + one.rows,
  )
  return box ? box.y + (row - box.firstRow + 0.5) * box.rowHeight : null
}

/** The block of 16 rows that a row of a box lies in. */
export function blockOf(box: Box, row: number): number {
  return box.kind === 'lanes' ? LANES_BLOCK : row >> 4
}
