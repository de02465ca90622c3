// From ranks and what the user did to their tracks to boxes with a height: the steps (and, of a single rank, its lanes)
// and pinned tracks on top; below them, scrolled, a strip for each rank, its lanes and tracks where it is open.
import type { RankTracks, Track } from '../api/timeline'
import { LANES_BLOCK } from './tiles/key'
import { isSideB } from './sides'
import { trackOfRank, type StackedTrack } from './stack'
import { orderedGroups, type OrderedGroup } from './trackOrder'
import {
  lanesKey,
  otherStepsKey,
  ordered,
  quietKey,
  queryKey,
  rankKey,
  stepsKey,
  trackKey,
  type TrackKey,
  type TrackState,
} from './trackState'

export type BoxKind = 'steps' | 'strip' | 'group' | 'quiet' | 'track' | 'lanes' | 'counter' | 'query' | 'hidden'

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
  /** Of a group's heading: device, host, memory, python … */
  readonly groupKind: string | null
}

/** How far a rank is open: its strip alone, its lanes, its tracks too. */
export type Openness = 0 | 1 | 2

export interface ShownRank {
  readonly rank: number
  readonly title: string
  readonly open: Openness
  /** Null until its tracks were asked for. */
  readonly info: RankTracks | null
}

/** The boxes of one rank among the scrolled ones; its head stays in sight while the rest scrolls by. */
export interface Section {
  readonly rank: number
  readonly y: number
  readonly headHeight: number
  readonly headBoxes: number
  readonly firstBox: number
  readonly end: number
}

export interface Layout {
  readonly pinned: readonly Box[]
  readonly pinnedHeight: number
  readonly scrolled: readonly Box[]
  readonly scrolledHeight: number
  readonly sections: readonly Section[]
}

export interface LayoutOptions {
  readonly filter?: string
  /** Names of the codes that tracks list. */
  readonly kinds?: readonly string[]
  /** A group of this kind comes first, below the lanes: what a link of another page is about. */
  readonly first?: string | null
  /** Rows of the track that shows the result of a query; 0 without one. */
  readonly queryRows?: number
  /** Only this track, of every rank. */
  readonly stack?: StackedTrack | null
}

export const ROW_HEIGHT = 18
export const STRIP_HEIGHT = 18
const STEPS_HEIGHT = 22
const LANE_HEIGHT = 15
const GROUP_HEIGHT = 22
const COUNTER_HEIGHT = 44
const FOLDED_ROW = 3
const FOLDED_LEAST = 20
const FOLDED_MOST = 60
export const LANE_ROWS = 5
/** The row of the lanes block that holds the state of the rank. */
export const STATE_ROW = 5

/** The kind of group of a track that stands among the same tracks of other ranks. */
export const STACKED = 'stack'

type Unplaced = Omit<Box, 'y'>

export function layOut(ranks: readonly ShownRank[], state: TrackState, options: LayoutOptions = {}): Layout {
  const alone = ranks.length === 1
  const builder = new Builder(state, options, alone)
  const [first] = ranks
  const head: Unplaced[] = first ? [heading('steps', stepsKey, first.rank, STEPS_HEIGHT, first.title)] : []
  const other = ranks.find((one) => isSideB(one.rank))
  if (other) head.push(heading('steps', otherStepsKey, other.rank, STEPS_HEIGHT, other.title))
  if (alone && !options.stack && first?.info?.has_lanes && !state.hidden.includes(lanesKey(first.rank)))
    head.push(lanesBox(first.rank, state))
  if (first && options.queryRows) head.push(queryBox(first.rank, options.queryRows))
  const { stack = null } = options
  for (const rank of ranks) {
    if (stack) builder.addStacked(rank, stack)
    else builder.addRank(rank)
  }
  const [pinnedBoxes, pinnedHeight] = place([
    ...head,
    ...state.pinned.flatMap((key) => builder.pinnable.get(key) ?? []),
  ])
  const [scrolledBoxes, scrolledHeight] = place(builder.scrolled)
  const sections = builder.sections.map(({ rank, firstBox, headBoxes, endBox }): Section => {
    const y = scrolledBoxes[firstBox]?.y ?? scrolledHeight
    const headHeight = builder.scrolled.slice(firstBox, firstBox + headBoxes).reduce((sum, box) => sum + box.height, 0)
    return { rank, y, headHeight, headBoxes, firstBox, end: scrolledBoxes[endBox]?.y ?? scrolledHeight }
  })
  return { pinned: pinnedBoxes, pinnedHeight, scrolled: scrolledBoxes, scrolledHeight, sections }
}

class Builder {
  readonly scrolled: Unplaced[] = []
  readonly pinnable = new Map<TrackKey, Unplaced>()
  readonly sections: { rank: number; firstBox: number; headBoxes: number; endBox: number }[] = []

  constructor(
    private readonly state: TrackState,
    private readonly options: LayoutOptions,
    private readonly alone: boolean,
  ) {}

  addRank(shown: ShownRank): void {
    const firstBox = this.scrolled.length
    const { rank, info } = shown
    if (!this.alone) this.scrolled.push(stripBox(shown))
    if (!this.alone && shown.open > 0 && info?.has_lanes) this.#offer(lanesBox(rank, this.state))
    const headBoxes = this.scrolled.length - firstBox
    if (info && (this.alone || shown.open === 2)) this.#addTracks(info)
    this.sections.push({ rank, firstBox, headBoxes, endBox: this.scrolled.length })
  }

  /** One track of a rank, under the rank's name; its strip until the tracks are there. */
  addStacked(shown: ShownRank, stack: StackedTrack): void {
    const firstBox = this.scrolled.length
    const { rank, info } = shown
    const track = info && trackOfRank(info, stack)
    if (!info) this.scrolled.push(stripBox(shown))
    else if (track) {
      const box = trackBox(info, track, trackKey(rank, track.track), '', this.state)
      this.scrolled.push({ ...box, group: null, groupKind: STACKED })
    }
    this.sections.push({ rank, firstBox, headBoxes: 0, endBox: this.scrolled.length })
  }

  #addTracks(rank: RankTracks): void {
    const groups = orderedGroups(rank, this.options.kinds ?? [], this.options.first ?? null)
    for (const group of groups) this.#addGroup(rank, group)
    const hidden = this.state.hidden.filter((key) => key.startsWith(`${rank.rank}.`)).length
    if (hidden > 0) this.scrolled.push(heading('hidden', `${rank.rank}.h`, rank.rank, GROUP_HEIGHT, String(hidden)))
  }

  #addGroup(rank: RankTracks, group: OrderedGroup): void {
    const { state } = this
    const filter = this.options.filter ?? ''
    const wanted = group.tracks.filter((track) => matches(track, group.name, filter))
    const byKey = new Map(wanted.map((track) => [trackKey(rank.rank, track.track), track]))
    const visible = ordered([...byKey.keys()], state.moved).filter((key) => !state.hidden.includes(key))
    if (visible.length === 0) return
    // A filter is a question about tracks: what it finds is shown open.
    const folded =
      filter === '' && (group.folded || (!this.alone && group.kind !== 'device')) !== state.toggled.includes(group.key)
    const title = heading('group', group.key, rank.rank, GROUP_HEIGHT, group.name)
    this.scrolled.push({ ...title, folded, rows: visible.length, groupKind: group.kind })
    const boxOf = (key: TrackKey): Unplaced => trackBox(rank, byKey.get(key) as Track, key, group.key, state)
    const quiet = filter === '' ? visible.filter((key) => byKey.get(key)?.quiet && !state.pinned.includes(key)) : []
    const gathered = quiet.length > 1 ? quiet : []
    for (const key of visible) {
      if (gathered.includes(key)) continue
      if (folded) this.pinnable.set(key, boxOf(key))
      else this.#offer(boxOf(key))
    }
    if (gathered.length === 0) return
    const key = quietKey(group.key)
    const shut = !state.toggled.includes(key)
    if (!folded)
      this.scrolled.push({ ...heading('quiet', key, rank.rank, GROUP_HEIGHT, ''), folded: shut, rows: gathered.length })
    for (const one of gathered) {
      if (folded || shut) this.pinnable.set(one, boxOf(one))
      else this.#offer(boxOf(one))
    }
  }

  /** A box goes where it belongs: to the pinned ones, or among the others. */
  #offer(box: Unplaced): void {
    if (this.state.hidden.includes(box.key)) return
    this.pinnable.set(box.key, box)
    if (!this.state.pinned.includes(box.key)) this.scrolled.push(box)
  }
}

function trackBox(rank: RankTracks, track: Track, key: TrackKey, group: TrackKey, state: TrackState): Unplaced {
  const folded = state.toggled.includes(key)
  const common = { key, rank: rank.rank, folded, title: track.name, track, group, groupKind: null }
  if (track.counter) {
    const height = folded ? FOLDED_LEAST : COUNTER_HEIGHT
    return { ...common, kind: 'counter', height, firstRow: 0, rows: 1, rowHeight: height }
  }
  const rows = Math.max(1, track.rows)
  const height = folded ? Math.min(FOLDED_MOST, Math.max(FOLDED_LEAST, rows * FOLDED_ROW)) : rows * ROW_HEIGHT + 2
  const rowHeight = folded ? height / rows : ROW_HEIGHT
  return { ...common, kind: 'track', height, firstRow: track.first_row, rows: track.rows, rowHeight }
}

function lanesBox(rank: number, state: TrackState): Unplaced {
  const key = lanesKey(rank)
  const folded = state.toggled.includes(key)
  const rowHeight = folded ? FOLDED_LEAST / LANE_ROWS : LANE_HEIGHT
  const height = rowHeight * LANE_ROWS + (folded ? 0 : 2)
  return { ...heading('lanes', key, rank, height, ''), rows: LANE_ROWS, rowHeight, folded }
}

function queryBox(rank: number, rows: number): Unplaced {
  return { ...heading('query', queryKey, rank, rows * ROW_HEIGHT + 2, 'SQL'), rows, rowHeight: ROW_HEIGHT }
}

function stripBox({ rank, title, open }: ShownRank): Unplaced {
  const strip = heading('strip', rankKey(rank), rank, STRIP_HEIGHT, title)
  return { ...strip, firstRow: STATE_ROW, rows: 1, rowHeight: STRIP_HEIGHT, folded: open === 0 }
}

function heading(kind: BoxKind, key: TrackKey, rank: number, height: number, title: string): Unplaced {
  const empty = { firstRow: 0, rows: 0, rowHeight: 0, folded: false, track: null, group: null, groupKind: null }
  return { ...empty, kind, key, rank, height, title }
}

function matches(track: Track, group: string, filter: string): boolean {
  const text = filter.trim().toLowerCase()
  return text === '' || track.name.toLowerCase().includes(text) || group.toLowerCase().includes(text)
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

/** The section whose boxes lie at a height of the scrolled ones, or null. */
export function sectionAt(sections: readonly Section[], y: number): Section | null {
  let low = 0
  let high = sections.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sections[middle] as Section).end <= y) low = middle + 1
    else high = middle
  }
  const section = sections[low]
  return section && y >= section.y ? section : null
}

/** Whether a box has rows of slices: a track's, or those of the lanes. */
export function hasRows(box: Box): boolean {
  return (box.kind === 'track' || box.kind === 'lanes' || box.kind === 'strip') && box.rows > 0
}

/** The row of a box at a distance from its upper edge: its number within the rank (or the lanes). */
export function rowAt(box: Box, below: number): number | null {
  if (!hasRows(box)) return null
  const row = Math.floor(below / box.rowHeight)
  return row >= 0 && row < box.rows ? box.firstRow + row : null
}

/** The box that shows a row of a rank's tracks, or null. */
export function boxOfRow(boxes: readonly Box[], rank: number, row: number): Box | null {
  const shows = (box: Box): boolean =>
    box.kind === 'track' && box.rank === rank && row >= box.firstRow && row < box.firstRow + box.rows
  return boxes.find(shows) ?? null
}

/** Where a row of a rank lies in a list of boxes: its middle, or null when it is not shown. */
export function rowMiddle(boxes: readonly Box[], rank: number, row: number): number | null {
  const box = boxOfRow(boxes, rank, row)
  return box ? box.y + (row - box.firstRow + 0.5) * box.rowHeight : null
}

/** The block of 16 rows that a row of a box lies in. */
export function blockOf(box: Box, row: number): number {
  return box.kind === 'lanes' || box.kind === 'strip' ? LANES_BLOCK : row >> 4
}
