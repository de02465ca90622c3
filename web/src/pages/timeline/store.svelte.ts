// The state of the timeline page. What the user can see again later is mirrored into the address.
import { untrack } from 'svelte'
import { isAborted } from '../../api/errors'
import { TwoSides } from '../../api/twoSides'
import { TimelineApi, type Flows, type SliceDetails, type SliceBrief } from '../../api/timeline'
import type { RankFacts } from '../../api/schema'
import { router } from '../../router/router.svelte'
import { slowestFirst } from '../../state/lateness'
import { Resource } from '../../state/resource.svelte'
import type { Session } from '../../state/session.svelte'
import { cssVariable, theme } from '../../state/theme.svelte'
import { withOffset, type Offsets } from '../../timeline/align'
import type { Frame } from '../../timeline/draw/frame'
import type { TourShown } from '../../timeline/draw/overlay'
import type { Flag } from '../../timeline/flags'
import type { Hit } from '../../timeline/hit'
import { layOut, type Layout, type Openness, type ShownRank } from '../../timeline/layout'
import type { OpenRanks } from '../../timeline/openRanks'
import { firstStep, stepSpan, type RunModel } from '../../timeline/model'
import { blockNeeds, counterNeeds } from '../../timeline/needs'
import {
  around,
  isSame,
  NOTHING,
  spanFromText,
  spanToText,
  type Selection,
  type SliceKey,
} from '../../timeline/selection'
import { alignment, isSideB } from '../../timeline/sides'
import { MOST_STACKED, stackedTrack, stackFromText, type StackedTrack } from '../../timeline/stack'
import { inOrder, type StripOrder } from '../../timeline/stripOrder'
import type { QueryTrack } from '../../timeline/queryTrack'
import { readTheme, type CanvasTheme } from '../../timeline/theme'
import { TileCache } from '../../timeline/tiles/cache'
import type { CounterTile, Tile } from '../../timeline/tiles/codec'
import type { TileLoader } from '../../timeline/tiles/loader'
import { drawLevel, wantedTiles } from '../../timeline/tiles/plan'
import { UNTOUCHED, type TrackKey, type TrackState } from '../../timeline/trackState'
import { TimeView, type Span } from '../../timeline/view'
import { openingSpan, ownText, paramsOf, stateOf, withTime, type AddressedState } from './address'
import { idleTracks } from './idleTracks'
import { OpeningPair } from './openingPair.svelte'
import { OtherSide } from './otherSide.svelte'
import { RankTracksLoader } from './rankTracks.svelte'
import { counterLoader, sliceLoader } from './tileLoaders'

const TILE_BYTES = 160e6
const COUNTER_BYTES = 16e6
/** More selected slices are kept, but only these are outlined. */
const MOST_PLACES = 40

export type DrawerTab = 'details' | 'range' | 'search' | 'flags' | 'summary' | 'tour'

export class TimelineStore implements AddressedState {
  readonly api: TwoSides
  readonly tiles = new TileCache<Tile>(TILE_BYTES)
  readonly counters = new TileCache<CounterTile>(COUNTER_BYTES)
  readonly view = new TimeView({ start: 0, end: 1 })
  readonly tracks: RankTracksLoader
  readonly other: OtherSide
  readonly opening: OpeningPair
  readonly details: Resource<SliceDetails>
  readonly selectionFlows: Resource<Flows>

  state = $state.raw<TrackState>(UNTOUCHED)
  ownOffsets = $state.raw<Offsets>(new Map())
  /** How far the user opened or closed ranks. */
  opened = $state.raw<OpenRanks>(new Map())
  /** How the strips of several ranks are ordered. */
  stripOrder = $state<StripOrder>('slow')
  /** The kind of tracks that another page's link is about: they come first. */
  firstKind = $state<string | null>(null)
  /** The track that is shown of all ranks, as `rank.track`. */
  stackKey = $state<string | null>(null)
  selection = $state.raw<Selection>(NOTHING)
  /** Places of all selected slices, as far as they are known. */
  selected = $state.raw<readonly SliceBrief[]>([])
  reference = $state.raw<SliceBrief | null>(null)
  flags = $state.raw<readonly Flag[]>([])
  windowFlows = $state.raw<Flows | null>(null)
  linkKinds = $state.raw<readonly string[]>([])
  searchTicks = $state.raw<readonly number[]>([])
  /** The result of a query, shown as a track. */
  query = $state.raw<QueryTrack | null>(null)
  tour = $state.raw<TourShown | null>(null)
  gap = $state.raw<{ rank: number; at_ns: number; dur_ns: number } | null>(null)
  hover = $state.raw<Hit | null>(null)
  pointer = $state.raw<{ x: number; y: number } | null>(null)
  /** One line until something is selected. */
  drawer = $state<DrawerTab | null>(null)
  trackFilter = $state('')
  colourBy = $state<'name' | 'kind'>('name')
  dragMode = $state<'select' | 'pan'>('select')
  scrollTop = $state(0)
  height = $state(0)
  width = $state(0)
  loadError = $state.raw<unknown>(null)
  /** Tracks of each rank that have no work in the stretch that the page opened on. */
  idleTracks = $state.raw<ReadonlyMap<number, ReadonlySet<TrackKey>>>(new Map())
  /** Whether everything that the first view shows is there: it does not grow under the reader's eyes. */
  ready = $state(false)
  /** Where keys or pointer found the slice that they selected last. */
  reached: { readonly rank: number; readonly row: number; readonly moment: number } | null = null
  /** What is to be brought into sight when the lanes stand. */
  toReveal = $state.raw<SliceBrief | null>(null)
  /** Called when a link's slice was found, to bring its row into sight. */
  onplaced: ((slice: SliceBrief) => void) | null = null
  /** Counts what changes the lower canvas without being reactive: the view, arriving tiles, brightened names. */
  revision = $state(0)

  /** Numbers of the shown ranks in the order of their strips. */
  readonly rankOrder: readonly number[] = $derived.by(() => {
    const { session } = this
    // A stack is of the chosen ranks, or of all where none or one is chosen.
    const ranks =
      this.stackKey !== null && (session.ranks.length < 2 || !session.namesRanks)
        ? (session.run?.rank_list ?? []).map((one) => one.rank)
        : session.ranks
    if (ranks.length < 2) return ranks
    // The pair that the page opened with is in order: the accused one first.
    if (!session.namesRanks && this.stackKey === null && this.stripOrder === 'slow') return ranks
    const slowest = this.stripOrder === 'slow' ? slowestFirst(session.rankRows() ?? []) : []
    const order = inOrder(ranks, this.stripOrder, { slowest, facts: session.run?.rank_list ?? [] })
    return this.stackKey === null ? order : order.slice(0, MOST_STACKED)
  })
  /** The ranks with how far they are open: a single one always, of several the first, and the one that it is compared with. */
  readonly shown: readonly ShownRank[] = $derived.by(() => {
    const { model, other } = this
    if (!model) return []
    const facts = new Map((this.session.run?.rank_list ?? []).map((one) => [one.rank, one]))
    const order = this.stackKey === null ? other.below(this.rankOrder) : this.rankOrder
    const isTwin = (rank: number, index: number): boolean =>
      this.stackKey === null && index > 0 && (isSideB(rank) ? !isSideB(order[index - 1] ?? 0) : order.length === 2)
    const openAtFirst = (rank: number, index: number): Openness =>
      this.stackKey === null && (index === 0 || (index === 1 && isTwin(rank, index))) ? 2 : 0
    return order.map((rank, index) => ({
      rank,
      title: titleOf(isSideB(rank) ? other.facts(rank) : facts.get(rank)),
      open: order.length === 1 ? 2 : (this.opened.get(rank) ?? openAtFirst(rank, index)),
      info: model.ranks.get(rank)?.info ?? null,
      twin: isTwin(rank, index),
    }))
  })
  /** How far ranks are shown from where the run's clock has them. */
  readonly #offsets: Offsets = $derived.by(() => this.other.spread(this.ownOffsets))
  /** The track that is shown of all ranks, as soon as it is known. */
  readonly stack: StackedTrack | null = $derived.by(() => {
    const named = stackFromText(this.stackKey ?? undefined)
    const info = named && this.model?.ranks.get(named.rank)?.info
    return named && info ? stackedTrack(info, named.track) : null
  })
  /** Ranks whose lanes or tracks are in the layout: what numbers of the window are about. */
  readonly openRanks: readonly number[] = $derived.by(() => {
    const open = this.shown.filter((one) => one.open > 0).map((one) => one.rank)
    return open.length > 0 ? open : this.shown.slice(0, 1).map((one) => one.rank)
  })
  readonly layout: Layout = $derived(
    layOut(this.shown, this.state, {
      filter: this.trackFilter,
      kinds: this.model?.tracks.kinds ?? [],
      first: this.firstKind,
      queryRows: this.query ? Math.max(1, this.query.rows.length) : 0,
      stack: this.stack,
      idle: new Set([...this.idleTracks.values()].flatMap((keys) => [...keys])),
    }),
  )
  readonly canvasTheme: CanvasTheme = $derived(
    readTheme(theme.current === 'dark', cssVariable, this.model?.tracks.kinds ?? []),
  )

  /** Aborted with the page: what arrives later must not move another page's address. */
  readonly #life = new AbortController()
  readonly #tileLoader: TileLoader<Tile>
  readonly #counterLoader: TileLoader<CounterTile>
  #written = ''
  #opened: Span = { start: 0, end: 1 }
  #openOnSelection = false

  constructor(readonly session: Session) {
    this.api = new TwoSides(session.runId ?? '')
    const hooks = {
      onarrival: (): void => this.changed(),
      onerror: this.failed,
      onanswer: (): void => {
        this.loadError = null
      },
    }
    this.#tileLoader = sliceLoader(this.api, this.tiles, hooks)
    this.#counterLoader = counterLoader(this.api, this.counters, hooks)
    this.other = new OtherSide(session)
    this.opening = new OpeningPair(session)
    this.tracks = new RankTracksLoader(session, this.opening, this.api, {
      onreplaced: () => {
        this.tiles.clear()
        this.counters.clear()
      },
      onranks: (ranks, first) => this.#received(ranks, first),
      onchange: () => this.changed(),
      onerror: this.failed,
      gone: this.gone,
    })
    this.details = new Resource(
      () => this.selection.slices.at(-1) ?? null,
      (signal) => {
        const last = this.selection.slices.at(-1)
        return this.api.slice(last?.rank ?? 0, last?.slice ?? 0, signal)
      },
    )
    this.selectionFlows = new Resource(
      () => (this.selection.slices.length > 0 ? this.selection.slices : null),
      (signal) => this.api.flows({ slices: this.selection.slices }, signal),
    )
    $effect(() => {
      const { run } = this.other
      this.api.other = run === null ? null : new TimelineApi(run)
      this.tracks.forgetSideB()
    })
    $effect(() => {
      const named = stackFromText(this.stackKey ?? undefined)
      const wanted = this.shown.filter((one) => (one.open > 0 || named !== null) && one.info === null)
      this.tracks.fetch([...(named && this.model ? [named.rank] : []), ...wanted.map((one) => one.rank)])
    })
    $effect(() => this.#follow(router.route.params))
    $effect(() => this.#mirror())
    $effect(() => this.#locate(this.selection.slices))
    $effect(() => {
      if (this.ready || !this.model) return
      const there = this.shown.every(({ rank, open, info }) => open === 0 || (info && this.idleTracks.has(rank)))
      if (this.loadError || (there && !this.other.pending && this.#isOrdered)) this.ready = true
    })
    $effect(() => {
      // Before somebody asks for all ranks, so that their strips come in their order.
      if (this.ready && (session.run?.rank_list.length ?? 0) > 2) session.rankRows()
    })
    $effect(() => () => {
      this.#life.abort()
      this.#tileLoader.dispose()
      this.#counterLoader.dispose()
    })
  }

  /** For requests that nobody asks again. */
  get gone(): AbortSignal {
    return this.#life.signal
  }

  /** A request failed: the page says so, unless it was given up. */
  readonly failed = (error: unknown): void => {
    if (!isAborted(error)) this.loadError = error
  }

  /** What is known of the run and of the ranks that were loaded. */
  get model(): RunModel | null {
    return this.tracks.model
  }

  get offsets(): Offsets {
    return this.#offsets
  }

  set offsets(all: Offsets) {
    this.ownOffsets = this.other.gathered(all)
  }

  /** The slice whose details are shown, as soon as its place is known. */
  get current(): SliceBrief | null {
    const key = this.selection.slices.at(-1)
    if (!key) return null
    const { data } = this.details
    return this.selected.find((one) => isSame(one, key)) ?? (data && isSame(data, key) ? data : null)
  }

  /** Nothing is selected any more; the drawer that showed it is one line again. */
  unselect(): void {
    this.selection = NOTHING
    this.selected = []
    if (this.drawer === 'details' || this.drawer === 'range') this.drawer = null
  }

  /** Nothing is being loaded: what is on the screen is final. */
  get idle(): boolean {
    return this.model !== null && this.#tileLoader.idle && this.#counterLoader.idle
  }

  /** The lower canvas must be drawn again. */
  changed(): void {
    // Not a dependency of the effects that call this.
    this.revision = untrack(() => this.revision) + 1
  }

  /** After the view moved: draw, and let the address follow. */
  moved(): void {
    this.changed()
    const t = spanToText(this.view.span)
    this.#written = withTime(this.#written, t)
    router.adjust({ t })
  }

  /** Everything a frame is drawn from; asks for the tiles it lacks. */
  frame(ratio: number): Frame | null {
    if (!this.model || this.width === 0) return null
    this.view.width = this.width
    const frame: Frame = {
      width: this.width,
      height: this.height,
      ratio,
      view: this.view,
      layout: this.layout,
      scrollTop: this.scrollTop,
      offsets: this.offsets,
      model: this.model,
      theme: this.canvasTheme,
      tiles: this.tiles,
      counters: this.counters,
      level: drawLevel(this.view.nsPerPixel, this.model.length),
      colourBy: this.colourBy,
      query: this.query,
    }
    this.#tileLoader.want(wantedTiles(blockNeeds(frame), this.view.nsPerPixel, this.model.length))
    this.#counterLoader.want(wantedTiles(counterNeeds(frame), this.view.nsPerPixel, this.model.length))
    return frame
  }

  scrollTo(top: number): void {
    const room = Math.max(0, this.height - this.layout.pinnedHeight)
    this.scrollTop = Math.max(0, Math.min(top, this.layout.scrolledHeight - room))
  }

  /** Tracks of some ranks are there. */
  #received(ranks: readonly number[], first: boolean): void {
    untrack(() => {
      if (this.model) this.view.setBounds(this.model.bounds)
      if (first) this.#read(router.route.params)
      const ofOther = this.other.ranks.find((rank) => ranks.includes(rank))
      if (ofOther !== undefined) this.#alignOther(ofOther)
      if (!first) void this.#findIdle(ranks)
      this.changed()
      const last = this.current
      if (!first && last && ranks.includes(last.rank)) this.onplaced?.(last)
    })
  }

  /** Put a step of the other run under the same step of this one, unless the address says how they stand. */
  #alignOther(other: number): void {
    const { session, model } = this
    if (!model || this.offsets.has(other)) return
    const starts = (rank: number | undefined): { step: number; start: number }[] =>
      (rank === undefined ? [] : (model.ranks.get(rank)?.info.steps ?? [])).map((mark) => ({
        step: mark.step,
        start: stepSpan(mark).start,
      }))
    const visible = firstStep(model)?.mark.step ?? null
    const by = alignment(starts(session.rank), starts(other), session.step ?? visible, session.versus?.step ?? null)
    this.offsets = withOffset(this.offsets, other, by)
  }

  /** Open a rank a little further: its lanes, its tracks, and shut again. */
  toggleRank(rank: number): void {
    const now = this.shown.find((one) => one.rank === rank)?.open ?? 0
    this.openRank(rank, ((now + 1) % 3) as Openness)
  }

  openRank(rank: number, open: Openness): void {
    this.opened = new Map(this.opened).set(rank, open)
  }

  /** Someone else changed the address: Back, Forward, a picker, a link. */
  #follow(params: Readonly<Record<string, string>>): void {
    untrack(() => {
      if (this.model && ownText(params) !== this.#written) this.#read(params)
    })
  }

  #read(params: Readonly<Record<string, string>>): void {
    Object.assign(this, stateOf(params))
    if (this.selection.slices.length === 0) this.selected = []
    this.#written = ownText(params)
    this.#openOnSelection = params['t'] === undefined && this.selection.slices.length > 0
    if (this.selection.slices.length > 0) this.drawer = 'details'
    else if (this.selection.range) this.drawer = 'range'
    const opening = spanFromText(params['t']) ?? openingSpan(this.model, params)
    this.view.jump(opening ?? this.model?.bounds ?? this.view.span)
    this.#opened = this.view.span
    // Of all ranks that are there: what was asked about the stretch before is given up.
    void this.#findIdle([...(this.model?.ranks.keys() ?? [])])
    this.changed()
  }

  /** Strips of many ranks are in their order as they are first seen, unless that takes long to find out. */
  get #isOrdered(): boolean {
    const byLateness = this.rankOrder.length > 2 && this.stripOrder === 'slow'
    return !byLateness || this.session.rankRows() !== undefined || !this.opening.patient
  }

  /** Which tracks of ranks are idle all along the stretch that the page opened on. */
  async #findIdle(ranks: readonly number[]): Promise<void> {
    const { model } = this
    const span = this.#opened
    if (!model || ranks.length === 0) return
    const found = await Promise.all(
      ranks.map(async (rank) => {
        const info = model.ranks.get(rank)?.info
        const none: ReadonlySet<TrackKey> = new Set()
        if (!info) return [rank, none] as const
        return await idleTracks(this.api, info, span, this.offsets.get(rank) ?? 0, this.gone).then(
          (keys) => [rank, keys] as const,
          () => [rank, none] as const,
        )
      }),
    )
    // Meanwhile somebody may have opened another stretch.
    if (span === this.#opened) this.idleTracks = new Map([...this.idleTracks, ...found])
  }

  #mirror(): void {
    const params = paramsOf(this)
    untrack(() => {
      if (!this.model) return
      const merged = { ...router.route.params, ...params }
      const text = ownText(merged)
      if (text === this.#written) return
      this.#written = text
      router.change(params)
    })
  }

  /** Find the places of all selected slices; a link that names slices but no time opens on them. */
  #locate(wanted: readonly SliceKey[]): void {
    untrack(() => {
      const known = this.selected.filter((one) => wanted.some((key) => isSame(key, one)))
      if (known.length !== this.selected.length) this.selected = known
      for (const key of wanted.slice(-MOST_PLACES)) {
        if (known.some((one) => isSame(one, key))) continue
        void this.api.slice(key.rank, key.slice, this.gone).then(
          (slice) => this.#found(slice),
          () => {
            // The details below say what is wrong with the slice.
          },
        )
      }
    })
  }

  #found(slice: SliceBrief): void {
    const { slices } = this.selection
    if (!slices.some((key) => isSame(key, slice)) || this.selected.some((one) => isSame(one, slice))) return
    // In the order of the selection: the last one is the one whose details are shown.
    const all = [...this.selected, slice]
    this.selected = slices.flatMap((key) => all.find((one) => isSame(one, key)) ?? [])
    if (!this.#openOnSelection || this.selected.length < slices.length) return
    this.#openOnSelection = false
    this.view.jump(around(this.selected, this.offsets))
    this.onplaced?.(slice)
    this.moved()
  }
}

function titleOf(facts: RankFacts | undefined): string {
  return [facts?.host, facts?.device_name ?? facts?.device_kind].filter(Boolean).join(' · ')
}
