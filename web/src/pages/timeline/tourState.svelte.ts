// The tour that the address names: its stops are asked for, and walking it moves the view and the selection.
import { analysis } from '../../api/documents'
import { isAborted, sentenceOf } from '../../api/errors'
import type { CriticalPath, Launches } from '../../api/schema'
import type { SliceBrief } from '../../api/timeline'
import { relative } from '../../components/chart/moments'
import { t } from '../../i18n/language.svelte'
import { router } from '../../router/router.svelte'
import { isPython, stepSpan } from '../../timeline/model'
import { NOTHING, type SliceKey } from '../../timeline/selection'
import {
  gapStops,
  mostVisible,
  nextStop,
  pathStops,
  tourFromText,
  tourToText,
  type Relative,
  type TourSpec,
  type TourStop,
} from '../../timeline/tour'
import { reveal } from './actions'
import { idleStretches } from './gaps'
import type { TimelineStore } from './store.svelte'

/** How many gaps are walked at most. */
export const MOST_GAPS = 200

export class TourState {
  stops = $state.raw<readonly TourStop[]>([])
  /** What the path is bound by; null for other tours. */
  path = $state.raw<CriticalPath | null>(null)
  busy = $state(false)
  /** Why there is nothing to walk. */
  why = $state<string | null>(null)
  readonly spec: TourSpec | null = $derived(tourFromText(router.route.params['tour']))
  /** The present stop, counted from 0; null before the first. */
  readonly position: number | null = $derived.by(() => {
    const stop = Number(router.route.params['stop'])
    return Number.isInteger(stop) && stop >= 1 && stop <= this.stops.length ? stop - 1 : null
  })
  readonly #text: string | null = $derived(this.spec ? tourToText(this.spec) : null)

  constructor(private readonly store: TimelineStore) {
    $effect(() => {
      const text = this.#text
      const { session, model } = store
      if (text === null || !model || !session.run) {
        this.#leave()
        return undefined
      }
      const spec = tourFromText(text)
      const stop = new AbortController()
      if (spec) void this.#load(spec, stop.signal)
      return () => stop.abort()
    })
    $effect(() => {
      // Without a stop there is nothing that the rest would step back for.
      store.tour = this.spec && this.stops.length > 0 ? { stops: this.stops, position: this.position } : null
    })
  }

  /** Begin a tour; the same again ends it. */
  toggle(kind: 'path' | 'gaps'): void {
    if (this.spec?.kind === kind) this.end()
    else this.begin(kind === 'path' ? { kind, step: this.#visibleStep() } : { kind })
  }

  begin(spec: TourSpec): void {
    this.store.drawer = 'tour'
    router.change({ tour: tourToText(spec), stop: null })
  }

  end(): void {
    router.change({ tour: null, stop: null })
    if (this.store.drawer === 'tour') this.store.drawer = null
  }

  /** Walk on; without a tour the one of the largest gaps begins. */
  step(by: 1 | -1): void {
    if (!this.spec) return this.begin({ kind: 'gaps' })
    const next = nextStop(this.position, by, this.stops.length)
    if (next !== null) this.show(next)
  }

  show(position: number): void {
    const stop = this.stops[position]
    if (!stop) return
    const { store } = this
    store.drawer = 'tour'
    router.change({ stop: String(position + 1) })
    this.#openRankOf(stop)
    const offset = store.offsets.get(stop.rank) ?? 0
    const room = Math.max((stop.end - stop.start) * 0.6, 1000)
    store.view.show({ start: stop.start + offset - room, end: stop.end + offset + room })
    store.selected = []
    store.selection = stop.slices.length > 0 ? { slices: stop.slices, range: null } : NOTHING
    store.hover = null
    store.pointer = null
    // Frames of Python are on the path too; they stay folded, their time is shown.
    if (stop.row !== null && !isPython(store.model, stop.rank, stop.row)) {
      const shown = { ...stop, slice: 0, kind: '', track: 0, at_ns: stop.start, dur_ns: stop.end - stop.start }
      reveal(store, { ...shown, row: stop.row })
    }
    store.moved()
  }

  /** Of several ranks, the one that the stop is about shows at least its lanes. */
  #openRankOf(stop: TourStop | undefined): void {
    const shown = this.store.shown.find((one) => one.rank === stop?.rank)
    if (shown?.open === 0) this.store.openRank(shown.rank, 1)
  }

  #leave(): void {
    this.stops = []
    this.path = null
    this.why = null
    this.busy = false
  }

  #visibleStep(): number | null {
    const { store } = this
    const rank = store.rankOrder[0]
    const marks = rank === undefined ? [] : (store.model?.ranks.get(rank)?.info.steps ?? [])
    const spans = marks.map((mark) => ({ step: mark.step, ...stepSpan(mark) }))
    return mostVisible(spans, store.view.span)?.step ?? store.session.step
  }

  async #load(spec: TourSpec, signal: AbortSignal): Promise<void> {
    this.busy = true
    try {
      this.stops = await this.#stopsOf(spec, signal)
      this.why = this.stops.length === 0 ? t('timeline.tour_empty') : null
      // A link to a stop that says no time opens on it.
      if (router.route.params['t'] === undefined || this.position === null) this.show(this.position ?? 0)
      else {
        this.store.drawer = 'tour'
        this.#openRankOf(this.stops[this.position])
      }
    } catch (error) {
      if (isAborted(error)) return
      this.stops = []
      this.why = sentenceOf(error)
    } finally {
      if (!signal.aborted) this.busy = false
    }
  }

  async #stopsOf(spec: TourSpec, signal: AbortSignal): Promise<readonly TourStop[]> {
    const { store } = this
    const run = store.session.runId ?? ''
    const rank = store.rankOrder[0] ?? 0
    if (spec.kind === 'gaps') {
      if (!(store.session.run?.analyses.includes('launches') ?? false)) return idleStretches(store, rank, signal)
      const { data } = await analysis<Launches>(run, 'launches', { rank, gaps: MOST_GAPS }, signal)
      return gapStops(
        data.gaps.filter((gap) => gap.duration_us >= data.least_gap_us),
        this.#relative,
      )
    }
    const answer = await analysis<readonly CriticalPath[]>(run, 'critical-path', { rank, step: spec.step }, signal)
    const path = answer.data.find((one) => one.rank === rank)
    this.path = path ?? null
    const keys = path?.path.flatMap((part) => (part.slice === null ? [] : [{ rank, slice: part.slice }])) ?? []
    const places = await this.#places(keys, signal)
    return path ? pathStops(path, new Map([...places.values()].map((one) => [one.slice, one])), this.#relative) : []
  }

  async #places(keys: readonly SliceKey[], signal: AbortSignal): Promise<ReadonlyMap<string, SliceBrief>> {
    const found = await this.store.api.slices(keys, signal)
    return new Map(found.map((one) => [`${one.rank}:${one.slice}`, one]))
  }

  readonly #relative: Relative = (rank, ns) => {
    const facts = this.store.session.run?.rank_list.find((one) => one.rank === rank)
    const zero = BigInt(this.store.model?.tracks.origin_ns ?? '0') - BigInt(facts?.clock_offset_ns ?? '0')
    return relative(ns, zero)
  }
}
