// From ranks and what the user did to their tracks to boxes with a height: the steps (and, of a single rank, its lanes)
// and pinned tracks on top; below them, scrolled, a strip for each rank, its lanes and tracks where it is open. Two ranks
// that are compared share a section: their strips and lanes, then each track of the one above the same of the other.
import type { RankTracks, Track } from '../api/timeline'
import { LANES_BLOCK } from './tiles/key'
import { twinTracks } from './pair'
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
  /** Whether it stands among tracks of two ranks, and so needs the name of its own. */
  readonly paired: boolean
}

/** How far a rank is open: its strip alone, its lanes, its tracks too. */
export type Openness = 0 | 1 | 2

export interface ShownRank {
  readonly rank: number
  readonly title: string
  readonly open: Openness
  /** Null until its tracks were asked for. */
  readonly info: RankTracks | null
  /** Compared with the rank before it, among whose tracks its own stand. */
  readonly twin?: boolean
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
  /** Of each track of an open rank, the headings below which it stands: what is to be opened to see it. */
  readonly headings: ReadonlyMap<TrackKey, readonly TrackKey[]>
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
  /** Tracks without work in the stretch that the page opened on: they are gathered as those are that never have any. */
  readonly idle?: ReadonlySet<TrackKey>
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
  const other = ranks.find((one) => one.twin)
  if (other) head.push(heading('steps', otherStepsKey, other.rank, STEPS_HEIGHT, other.title))
  if (alone && !options.stack && first?.info?.has_lanes && !state.hidden.includes(lanesKey(first.rank)))
    head.push(lanesBox(first.rank, state))
  if (first && options.queryRows) head.push(queryBox(first.rank, options.queryRows))
  const { stack = null } = options
  if (stack) for (const rank of ranks) builder.addStacked(rank, stack)
  else for (const together of sectionsOf(ranks)) builder.addSection(together)
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
  const { headings } = builder
  return { pinned: pinnedBoxes, pinnedHeight, scrolled: scrolledBoxes, scrolledHeight, sections, headings }
}

/** Each rank with the twin that follows it. */
function sectionsOf(ranks: readonly ShownRank[]): readonly (readonly ShownRank[])[] {
  return ranks.flatMap((rank, at) => {
    if (rank.twin && at > 0) return []
    const next = ranks[at + 1]
    return [next?.twin ? [rank, next] : [rank]]
  })
}

/** A track and, where two ranks are compared, the same track of the other one. */
type Row = readonly { readonly info: RankTracks; readonly track: Track; readonly key: TrackKey }[]

class Builder {
  readonly scrolled: Unplaced[] = []
  readonly pinnable = new Map<TrackKey, Unplaced>()
  readonly headings = new Map<TrackKey, readonly TrackKey[]>()
  readonly sections: { rank: number; firstBox: number; headBoxes: number; endBox: number }[] = []

  constructor(
    private readonly state: TrackState,
    private readonly options: LayoutOptions,
    private readonly alone: boolean,
  ) {}

  addSection(together: readonly ShownRank[]): void {
    const firstBox = this.scrolled.length
    for (const shown of together) {
      if (!this.alone) this.scrolled.push(stripBox(shown))
      if (!this.alone && shown.open > 0 && shown.info?.has_lanes) this.#offer(lanesBox(shown.rank, this.state))
    }
    const headBoxes = this.scrolled.length - firstBox
    const open = together.flatMap(({ info, open: how }) => (info && (this.alone || how === 2) ? [info] : []))
    const [lead, twin = null] = open
    if (lead) this.#addTracks(lead, twin)
    this.sections.push({ rank: together[0]?.rank ?? 0, firstBox, headBoxes, endBox: this.scrolled.length })
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

  #addTracks(lead: RankTracks, twin: RankTracks | null): void {
    const { kinds = [], first = null } = this.options
    const same = twin ? twinTracks(lead, twin) : new Map<Track, Track>()
    for (const group of orderedGroups(lead, kinds, first))
      this.#addGroup(
        group,
        group.tracks.map((track) => {
          const other = same.get(track)
          return [rowOf(lead, track), ...(twin && other ? [rowOf(twin, other)] : [])]
        }),
        twin === null ? 'no' : 'lead',
      )
    if (twin) {
      const taken = new Set(same.values())
      for (const group of orderedGroups(twin, kinds, first)) {
        const rest = group.tracks.filter((track) => !taken.has(track))
        this.#addGroup(
          group,
          rest.map((track) => [rowOf(twin, track)]),
          'twin',
        )
      }
    }
    for (const { rank } of twin ? [lead, twin] : [lead]) {
      const hidden = this.state.hidden.filter((key) => key.startsWith(`${rank}.`)).length
      if (hidden > 0) this.scrolled.push(heading('hidden', `${rank}.h`, rank, GROUP_HEIGHT, String(hidden)))
    }
  }

  /** `pair`: whether the rank is compared with another, and which of the two it is. */
  #addGroup(group: OrderedGroup, all: readonly Row[], pair: 'no' | 'lead' | 'twin'): void {
    const { state } = this
    const paired = pair !== 'no'
    const filter = this.options.filter ?? ''
    const rank = all[0]?.[0]?.info.rank
    if (rank === undefined) return
    const seen = all
      .map((row) => row.filter(({ track, key }) => matches(track, group.name, filter) && !state.hidden.includes(key)))
      .filter((row) => row.length > 0)
    const byKey = new Map(seen.map((row) => [row[0]?.key ?? '', row]))
    const rows = ordered([...byKey.keys()], state.moved).map((key) => byKey.get(key) ?? [])
    if (rows.length === 0) return
    // A filter is a question about tracks: what it finds is shown open.
    const usually = group.folded || (!this.alone && !paired && group.kind !== 'device')
    const folded = filter === '' && usually !== state.toggled.includes(group.key)
    const title = heading('group', group.key, rank, GROUP_HEIGHT, group.name)
    this.scrolled.push({ ...title, folded, rows: rows.length, groupKind: group.kind, paired: pair === 'twin' })
    const boxesOf = (row: Row): Unplaced[] =>
      row.map(({ info, track, key }) => ({ ...trackBox(info, track, key, group.key, state), paired }))
    const quiet = filter === '' ? rows.filter((row) => row.every((one) => this.#isQuiet(one))) : []
    const gathered = quiet.length > 1 ? quiet : []
    for (const row of rows) {
      if (gathered.includes(row)) continue
      for (const { key } of row) this.headings.set(key, [group.key])
      for (const box of boxesOf(row)) {
        if (folded) this.pinnable.set(box.key, box)
        else this.#offer(box)
      }
    }
    if (gathered.length === 0) return
    const key = quietKey(group.key)
    const shut = !state.toggled.includes(key)
    if (!folded)
      this.scrolled.push({ ...heading('quiet', key, rank, GROUP_HEIGHT, ''), folded: shut, rows: gathered.length })
    for (const row of gathered) {
      for (const one of row) this.headings.set(one.key, [group.key, key])
      for (const box of boxesOf(row)) {
        if (folded || shut) this.pinnable.set(box.key, box)
        else this.#offer(box)
      }
    }
  }

  #isQuiet({ track, key }: Row[number]): boolean {
    return (track.quiet || (this.options.idle?.has(key) ?? false)) && !this.state.pinned.includes(key)
  }

  /** A box goes where it belongs: to the pinned ones, or among the others. */
  #offer(box: Unplaced): void {
    if (this.state.hidden.includes(box.key)) return
    this.pinnable.set(box.key, box)
    if (!this.state.pinned.includes(box.key)) this.scrolled.push(box)
  }
}

function rowOf(info: RankTracks, track: Track): Row[number] {
  return { info, track, key: trackKey(info.rank, track.track) }
}

function trackBox(rank: RankTracks, track: Track, key: TrackKey, group: TrackKey, state: TrackState): Unplaced {
  const folded = state.toggled.includes(key)
  const common = { key, rank: rank.rank, folded, title: track.name, track, group, groupKind: null, paired: false }
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
  return { ...empty, paired: false, kind, key, rank, height, title }
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
