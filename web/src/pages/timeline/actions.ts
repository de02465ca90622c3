// What keys and buttons do. Every action of the key table has its function here.
import type { SliceBrief } from '../../api/timeline'
import { durationNs } from '../../format/units'
import { aligned, alignedByStep } from '../../timeline/align'
import { addFlag } from '../../timeline/flags'
import type { Action } from '../../timeline/keyboard'
import { boxUnder } from '../../timeline/draw/frame'
import { rowMiddle, sectionAt, type Box } from '../../timeline/layout'
import { sliceSpan, stepSpan } from '../../timeline/model'
import { extend, select } from '../../timeline/selection'
import { pinAll, toggleFold, togglePin, trackKey } from '../../timeline/trackState'
import { enterRow, walkRows } from './keyboardReach'
import { rankName } from './rankName'
import type { SearchState } from './searchState.svelte'
import type { TimelineStore } from './store.svelte'
import type { TourState } from './tourState.svelte'

const ZOOM = 1.35
const PAN_PART = 0.12
const SCROLL_PIXELS = 54

export interface Host {
  readonly store: TimelineStore
  readonly search: SearchState
  readonly tour: TourState
  focusSearch(): void
  /** Close a menu that is open; whether there was one. */
  closeMenu(): boolean
}

export function perform(host: Host, action: Action, digit = 0): void {
  const { store } = host
  const anchor = store.pointer?.x ?? store.width / 2
  // Old details stay visible while new ones load; keys must not act on them.
  const details = store.current?.slice === store.details.data?.slice ? store.details.data : undefined
  switch (action) {
    case 'zoom_in':
      return zoom(store, anchor, ZOOM)
    case 'zoom_out':
      return zoom(store, anchor, 1 / ZOOM)
    case 'pan_left':
      return pan(store, -PAN_PART)
    case 'pan_right':
      return pan(store, PAN_PART)
    case 'left':
      return details && store.selection.slices.length > 0 ? go(store, details.previous_in_row) : pan(store, -PAN_PART)
    case 'right':
      return details && store.selection.slices.length > 0 ? go(store, details.next_in_row) : pan(store, PAN_PART)
    case 'up':
      return details && store.selection.slices.length > 0
        ? go(store, details.parents.at(-1) ?? null)
        : store.scrollTo(store.scrollTop - SCROLL_PIXELS)
    case 'down':
      return details && store.selection.slices.length > 0
        ? go(store, details.children.slices[0] ?? null)
        : store.scrollTo(store.scrollTop + SCROLL_PIXELS)
    case 'fit':
      return fit(store)
    case 'whole':
      store.view.showAll()
      return store.moved()
    case 'undo_zoom':
      store.view.undo()
      return store.moved()
    case 'mark_range':
      return markRange(store)
    case 'flag':
      return flagSelection(store)
    case 'list_flags':
      store.drawer = 'flags'
      return undefined
    case 'set_reference':
      store.reference = store.current
      return undefined
    case 'align_left':
      return align(store, 'left')
    case 'align_right':
      return align(store, 'right')
    case 'reset_offsets':
      store.offsets = new Map()
      return store.changed()
    case 'flow_back':
      return go(store, details?.links.find((link) => link.direction === 'in')?.other ?? null)
    case 'flow_on':
      return go(store, details?.links.find((link) => link.direction === 'out')?.other ?? null)
    case 'next_same':
      return go(store, details?.next_same_name ?? null)
    case 'previous_same':
      return go(store, details?.previous_same_name ?? null)
    case 'next_gap':
      return host.tour.spec?.kind === 'gaps' ? host.tour.step(1) : host.tour.begin({ kind: 'gaps' })
    case 'next_stop':
      return host.tour.step(1)
    case 'previous_stop':
      return host.tour.step(-1)
    case 'enter':
      return enterRow(store)
    case 'row_up':
      return walkRows(store, -1)
    case 'row_down':
      return walkRows(store, 1)
    case 'search':
      return host.focusSearch()
    case 'next_hit':
      return host.search.result ? void host.search.step('next') : enterRow(store)
    case 'previous_hit':
      return void host.search.step('previous')
    case 'drawer':
      store.drawer = store.drawer === null ? (store.selection.range ? 'range' : 'details') : null
      return undefined
    case 'pin':
      return withBox(store, (box) => box.track && (store.state = togglePin(store.state, box.key)))
    case 'pin_by_name':
      return withBox(store, (box) => (store.state = pinAll(store.state, sameName(store, box))))
    case 'expand':
      return withBox(store, (box) => {
        if (box.kind === 'strip') store.toggleRank(box.rank)
        else store.state = toggleFold(store.state, box.key)
      })
    case 'step_mark':
      return goToStep(store, digit)
    case 'copy':
      return void copySummary(store)
    case 'escape':
      return escape(host)
  }
}

export function zoom(store: TimelineStore, x: number, factor: number): void {
  store.view.remember()
  store.view.zoomAt(x, factor)
  store.moved()
}

function pan(store: TimelineStore, part: number): void {
  store.view.pan(part * store.width)
  store.moved()
}

/** Select a slice and bring it into sight. */
export function go(store: TimelineStore, slice: SliceBrief | null, add = false): void {
  if (!slice) return
  store.selection = add ? extend(store.selection, slice) : select(slice)
  store.selected = add ? [...store.selected, slice] : [slice]
  store.drawer = 'details'
  store.gap = null
  // The view moves away from under the pointer: what it pointed at is no longer there.
  store.hover = null
  store.pointer = null
  reveal(store, slice)
}

export function reveal(store: TimelineStore, slice: SliceBrief): void {
  // Before the lanes stand there is no room to bring anything into; the page does it as soon as they do.
  if (store.height === 0) {
    store.toReveal = slice
    return
  }
  const offset = store.offsets.get(slice.rank) ?? 0
  const span = sliceSpan(slice)
  store.view.reveal({ start: span.start + offset, end: span.end + offset })
  revealRow(store, slice.rank, slice.row)
  store.moved()
}

function revealRow(store: TimelineStore, rank: number, row: number): void {
  const find = (): number | null => rowMiddle(store.layout.scrolled, rank, row)
  if (rowMiddle(store.layout.pinned, rank, row) !== null) return
  if (find() === null) openTo(store, rank, row)
  const middle = find()
  if (middle === null || isInSight(store, middle)) return
  const room = store.height - store.layout.pinnedHeight
  store.scrollTo(middle - (room + headAt(store, middle)) / 2)
}

function headAt(store: TimelineStore, middle: number): number {
  return sectionAt(store.layout.sections, middle)?.headHeight ?? 0
}

/** Whether a height among the scrolled tracks is neither behind the head nor below the window. */
function isInSight(store: TimelineStore, middle: number): boolean {
  const room = store.height - store.layout.pinnedHeight
  return middle >= store.scrollTop + headAt(store, middle) + 10 && middle <= store.scrollTop + room - 10
}

/** The lanes have another height, as when the drawer opens: a selected slice that was in sight stays so. */
export function resize(store: TimelineStore, width: number, height: number): void {
  // Of a slice that was just selected the details are on their way.
  const last = store.current ?? (store.selection.slices.length > 0 ? store.reached : null)
  const middle = last && rowMiddle(store.layout.scrolled, last.rank, last.row)
  const wasInSight = middle != null && isInSight(store, middle)
  store.width = width
  store.height = height
  if (last && wasInSight) revealRow(store, last.rank, last.row)
  store.scrollTo(store.scrollTop)
}

/** Open the rank, the group and the quiet tracks that a row lies in. */
function openTo(store: TimelineStore, rank: number, row: number): void {
  if (store.shown.some((one) => one.rank === rank && one.open < 2)) store.openRank(rank, 2)
  const info = store.model?.ranks.get(rank)?.info
  const track = info?.groups
    .flatMap((group) => group.tracks)
    .find((one) => row >= one.first_row && row < one.first_row + one.rows)
  if (!track) return
  for (const key of store.layout.headings.get(trackKey(rank, track.track)) ?? []) {
    const box = store.layout.scrolled.find((one) => one.key === key)
    if (box?.folded && rowMiddle(store.layout.scrolled, rank, row) === null) store.state = toggleFold(store.state, key)
  }
}

function fit(store: TimelineStore): void {
  const { range } = store.selection
  const last = store.current
  if (last && !range) {
    const offset = store.offsets.get(last.rank) ?? 0
    const span = sliceSpan(last)
    store.view.focus({ start: span.start + offset, end: span.end + offset })
  } else if (range) store.view.focus(range)
  else return
  store.moved()
}

function markRange(store: TimelineStore): void {
  const last = store.current
  if (store.selection.range) store.selection = { ...store.selection, range: null }
  else if (last) {
    const offset = store.offsets.get(last.rank) ?? 0
    const span = sliceSpan(last)
    const range = { start: span.start + offset, end: Math.max(span.end + offset, span.start + offset + 1), rows: [] }
    store.selection = { ...store.selection, range }
    store.drawer = 'range'
  }
}

function flagSelection(store: TimelineStore): void {
  const last = store.current
  const at = last
    ? last.at_ns + (store.offsets.get(last.rank) ?? 0)
    : (store.selection.range?.start ?? store.view.time(store.pointer?.x ?? store.width / 2))
  store.flags = addFlag(store.flags, at, last?.name ?? '')
  store.drawer = 'flags'
}

function align(store: TimelineStore, edge: 'left' | 'right'): void {
  const last = store.current
  if (!last || !store.reference) return
  store.offsets = aligned(store.offsets, store.reference, last, edge)
  store.changed()
}

/** Put the start of a step of all shown ranks under each other. */
export function alignSteps(store: TimelineStore, step: number): void {
  if (!store.model) return
  const starts = new Map<number, number>()
  for (const rank of store.model.ranks.keys()) {
    const mark = store.model.step(rank, step)
    if (mark) starts.set(rank, mark.at_ns)
  }
  store.offsets = alignedByStep(starts)
  store.changed()
}

export function goToStep(store: TimelineStore, digit: number): void {
  const rank = store.session.rank
  const steps = rank === undefined ? [] : (store.model?.ranks.get(rank)?.info.steps ?? [])
  const mark = steps[digit - 1]
  if (!mark || rank === undefined) return
  const offset = store.offsets.get(rank) ?? 0
  const span = stepSpan(mark)
  store.view.fit({ start: span.start + offset, end: span.end + offset })
  store.moved()
}

function withBox(store: TimelineStore, act: (box: Box) => void): void {
  const box = boxUnderPointer(store)
  if (box && box.kind !== 'steps' && box.kind !== 'hidden') act(box)
}

/** The box under the pointer, else the one of the selected slice. */
export function boxUnderPointer(store: TimelineStore): Box | null {
  const { pinned, scrolled } = store.layout
  if (store.pointer) return boxUnder(store, store.pointer.y)?.box ?? null
  const last = store.current
  if (!last) return null
  return [...pinned, ...scrolled].find((box) => box.rank === last.rank && box.track?.track === last.track) ?? null
}

/** Tracks of every shown rank with the same name and kind. */
function sameName(store: TimelineStore, box: Box): string[] {
  const all = [...store.layout.pinned, ...store.layout.scrolled]
  return all.filter((other) => other.kind === box.kind && other.title === box.title).map((other) => other.key)
}

async function copySummary(store: TimelineStore): Promise<void> {
  const last = store.current
  const { range } = store.selection
  const lines = [location.href]
  if (last) lines.push(`${last.name}, ${durationNs(last.dur_ns)}, ${rankName(last.rank)}`)
  if (range) lines.push(`${durationNs(range.end - range.start)} @ ${durationNs(range.start)}`)
  await navigator.clipboard.writeText(lines.join('\n'))
}

/** Close what lies on top, and only that: a menu, the tour, the selection, the drawer. */
function escape({ store, tour, closeMenu }: Host): void {
  if (closeMenu()) return
  if (store.gap) store.gap = null
  else if (tour.spec) tour.end()
  else if (store.selection.slices.length > 0 || store.selection.range) store.unselect()
  else store.drawer = null
}
