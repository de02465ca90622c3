// The state of the timeline page. What the user can see again later is mirrored into the address.
import { untrack } from 'svelte'
import { TwoSides } from '../../api/twoSides'
import { TimelineApi, type Flows, type SliceDetails, type SliceBrief, type Tracks } from '../../api/timeline'
import type { RankFacts } from '../../api/schema'
import { router } from '../../router/router.svelte'
import { slowestFirst } from '../../state/deviation'
import { Resource } from '../../state/resource.svelte'
import { numbers, type Session } from '../../state/session.svelte'
import { cssVariable, theme } from '../../state/theme.svelte'
import { offsetsFromText, offsetsToText, withOffset, type Offsets } from '../../timeline/align'
import type { Frame } from '../../timeline/draw/frame'
import type { TourShown } from '../../timeline/draw/overlay'
import { flagsFromText, flagsToText, type Flag } from '../../timeline/flags'
import type { Hit } from '../../timeline/hit'
import { layOut, type Layout, type Openness, type ShownRank } from '../../timeline/layout'
import { openFromText, openToText, type OpenRanks } from '../../timeline/openRanks'
import { firstStep, RunModel, stepSpan } from '../../timeline/model'
import { blockNeeds, counterNeeds } from '../../timeline/needs'
import {
  isSame,
  NOTHING,
  selectionFromParams,
  selectionToParams,
  spanFromText,
  spanToText,
  type Selection,
  type SliceKey,
} from '../../timeline/selection'
import { alignment, isSideB, SIDE_B } from '../../timeline/sides'
import { inOrder, stripOrderOf, type StripOrder } from '../../timeline/stripOrder'
import type { QueryTrack } from '../../timeline/queryTrack'
import { readTheme, type CanvasTheme } from '../../timeline/theme'
import { TileCache } from '../../timeline/tiles/cache'
import { decodeCounters, decodeTiles, type CounterTile, type Tile } from '../../timeline/tiles/codec'
import { TileLoader } from '../../timeline/tiles/loader'
import { drawLevel, wantedTiles } from '../../timeline/tiles/plan'
import { fromParams, toParams, UNTOUCHED, type TrackState } from '../../timeline/trackState'
import { TimeView, type Span } from '../../timeline/view'

const TILE_BYTES = 160e6
const COUNTER_BYTES = 16e6
/** More selected slices are kept, but only these are outlined. */
const MOST_PLACES = 40
/** Ranks whose tracks are asked for at once. */
const MOST_FETCHED = 8

export type DrawerTab = 'details' | 'range' | 'search' | 'flags' | 'summary' | 'tour'

export class TimelineStore {
  readonly api: TwoSides
  readonly tiles = new TileCache<Tile>(TILE_BYTES)
  readonly counters = new TileCache<CounterTile>(COUNTER_BYTES)
  readonly view = new TimeView({ start: 0, end: 1 })
  readonly tracksResource: Resource<Tracks>
  readonly details: Resource<SliceDetails>
  readonly selectionFlows: Resource<Flows>

  model = $state.raw<RunModel | null>(null)
  state = $state.raw<TrackState>(UNTOUCHED)
  offsets = $state.raw<Offsets>(new Map())
  /** How far the user opened or closed ranks. */
  opened = $state.raw<OpenRanks>(new Map())
  /** How the strips of several ranks are ordered. */
  stripOrder = $state<StripOrder>('slow')
  /** The kind of tracks that another page's link is about: they come first. */
  firstKind = $state<string | null>(null)
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
  /** Where the keys found the slice that they selected last. */
  reached: { readonly rank: number; readonly row: number; readonly moment: number } | null = null
  /** Called when a link's slice was found, to bring its row into sight. */
  onplaced: ((slice: SliceBrief) => void) | null = null
  /** Counts what changes the lower canvas without being reactive: the view, arriving tiles, brightened names. */
  revision = $state(0)

  /** Numbers of the shown ranks in the order of their strips. */
  readonly rankOrder: readonly number[] = $derived.by(() => {
    const { session } = this
    const { ranks } = session
    if (ranks.length < 2) return ranks
    const slowest = this.stripOrder === 'slow' ? slowestFirst(session.rankRows() ?? []) : []
    return inOrder(ranks, this.stripOrder, { slowest, facts: session.run?.rank_list ?? [] })
  })
  /** The rank of the other run that is put below this one's; null where nothing is compared. */
  readonly otherRank: number | null = $derived.by(() => {
    const { versus, rank } = this.session
    if (!versus) return null
    return SIDE_B + (numbers(versus.rank ?? undefined)[0] ?? rank ?? 0)
  })
  readonly #otherRun: string | null = $derived.by(() => this.session.versus?.run ?? null)
  /** The ranks with how far they are open: a single one always, of several the first. */
  readonly shown: readonly ShownRank[] = $derived.by(() => {
    const order = this.rankOrder
    const { model } = this
    if (!model) return []
    const facts = new Map((this.session.run?.rank_list ?? []).map((one) => [one.rank, one]))
    const other = this.otherRank
    const shown = order.map((rank, index) => ({
      rank,
      title: titleOf(facts.get(rank)),
      open: order.length === 1 && other === null ? 2 : (this.opened.get(rank) ?? (index === 0 ? 2 : 0)),
      info: model.ranks.get(rank)?.info ?? null,
    }))
    if (other === null) return shown
    const info = model.ranks.get(other)?.info ?? null
    const title = info?.device_name ?? info?.device_kind ?? ''
    // A over B: the other run below the first rank of this one.
    return [...shown.slice(0, 1), { rank: other, title, open: this.opened.get(other) ?? 2, info }, ...shown.slice(1)]
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
    }),
  )
  readonly canvasTheme: CanvasTheme = $derived(
    readTheme(theme.current === 'dark', cssVariable, this.model?.tracks.kinds ?? []),
  )

  readonly #tileLoader: TileLoader<Tile>
  readonly #counterLoader: TileLoader<CounterTile>
  #written = ''
  #openOnSelection = false
  readonly #asked = new Set<number>()
  #version = ''

  constructor(readonly session: Session) {
    this.api = new TwoSides(session.runId ?? '')
    const shared = {
      onarrival: (): void => this.changed(),
      onerror: (error: unknown): void => {
        this.loadError = error
      },
    }
    this.#tileLoader = new TileLoader({
      ...shared,
      cache: this.tiles,
      fetch: async (keys, signal) => {
        const wire = keys.map(({ rank, block, level, index }) => ({ rank, block, level, index }))
        const tiles = await this.api.decoded(wire, async (api, own) => decodeTiles(await api.tiles(own, signal)))
        this.loadError = null
        return tiles
      },
    })
    this.#counterLoader = new TileLoader({
      ...shared,
      cache: this.counters,
      fetch: async (keys, signal) => {
        const wire = keys.map(({ rank, block, level, index }) => ({ rank, track: block, level, index }))
        return this.api.decoded(wire, async (api, own) => decodeCounters(await api.counters(own, signal)))
      },
    })
    this.tracksResource = new Resource(
      () => (session.run ? `${session.run.summary.version}/${session.rank}` : null),
      (signal) => this.api.tracks(session.rank === undefined ? [] : [session.rank], signal),
    )
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
    $effect(() => this.#adopt(this.tracksResource.data))
    $effect(() => this.#compareWith(this.#otherRun))
    $effect(() => this.#fetchRanks(this.shown))
    $effect(() => this.#follow(router.route.params))
    $effect(() => this.#mirror())
    $effect(() => this.#locate(this.selection.slices))
    $effect(() => () => {
      this.#tileLoader.dispose()
      this.#counterLoader.dispose()
    })
  }

  /** The slice whose details are shown, as soon as its place is known. */
  get current(): SliceBrief | null {
    const key = this.selection.slices.at(-1)
    if (!key) return null
    const { data } = this.details
    return this.selected.find((one) => isSame(one, key)) ?? (data && isSame(data, key) ? data : null)
  }

  /** Whether a row is one of Python frames, which are folded until asked for. */
  isPython(rank: number, row: number): boolean {
    const groups = this.model?.ranks.get(rank)?.info.groups ?? []
    return groups.some(
      ({ kind, tracks }) =>
        kind === 'python' && tracks.some((track) => row >= track.first_row && row < track.first_row + track.rows),
    )
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

  #adopt(tracks: Tracks | undefined): void {
    if (!tracks) return
    untrack(() => {
      const first = this.model === null
      const known = tracks.version === this.#version ? this.model : null
      const others = known?.tracks.ranks.filter((one) => !tracks.ranks.some((rank) => rank.rank === one.rank)) ?? []
      this.model = new RunModel({ ...tracks, ranks: [...tracks.ranks, ...others] }, known?.ranks)
      if (!known) {
        this.tiles.clear()
        this.counters.clear()
        this.#asked.clear()
        this.#version = tracks.version
      }
      this.view.setBounds(this.model.bounds)
      for (const rank of tracks.ranks) void this.#moreNames(rank.rank)
      if (first) this.#read(router.route.params)
      this.changed()
    })
  }

  /** Tracks of ranks that were opened. */
  #fetchRanks(shown: readonly ShownRank[]): void {
    untrack(() => {
      const missing = shown.filter((one) => one.open > 0 && one.info === null && !this.#asked.has(one.rank))
      for (const { rank } of missing.slice(0, MOST_FETCHED)) {
        this.#asked.add(rank)
        this.api.tracks([rank]).then(
          (tracks) => {
            if ((tracks.version !== this.#version && !isSideB(rank)) || !this.model) return
            this.model = this.model.withRanks(tracks.ranks, tracks.end_at_ns)
            if (isSideB(rank)) this.#alignOther(rank)
            void this.#moreNames(rank)
            this.changed()
            const last = this.current
            if (last?.rank === rank) this.onplaced?.(last)
          },
          (error: unknown) => (this.loadError = error),
        )
      }
    })
  }

  /** Side B: its tiles and tracks are of another run. */
  #compareWith(run: string | null): void {
    untrack(() => {
      this.api.other = run === null ? null : new TimelineApi(run)
      for (const rank of this.#asked) if (isSideB(rank)) this.#asked.delete(rank)
      const others = [...(this.model?.ranks.keys() ?? [])].filter(isSideB)
      if (others.length === 0 || !this.model) return
      this.model = this.model.withoutRanks(others)
      this.tiles.clear()
      this.changed()
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

  async #moreNames(rank: number): Promise<void> {
    for (;;) {
      const model = this.model
      const known = model?.ranks.get(rank)?.names.length ?? 0
      if (known >= (model?.ranks.get(rank)?.info.names_total ?? 0)) return
      const { names, total } = await this.api.names(rank, known)
      model?.addNames(rank, known, names)
      this.changed()
      if (names.length === 0 || known + names.length >= total) return
    }
  }

  /** Someone else changed the address: Back, Forward, a picker, a link. */
  #follow(params: Readonly<Record<string, string>>): void {
    untrack(() => {
      if (this.model && ownText(params) !== this.#written) this.#read(params)
    })
  }

  #read(params: Readonly<Record<string, string>>): void {
    this.state = fromParams(params)
    this.opened = openFromText(params['open'])
    this.stripOrder = stripOrderOf(params['strips'])
    this.firstKind = params['show'] ?? null
    this.offsets = offsetsFromText(params['offset'])
    this.flags = flagsFromText(params['flag'])
    this.linkKinds = (params['links'] ?? '').split(',').filter(Boolean)
    this.selection = selectionFromParams(params)
    if (this.selection.slices.length === 0) this.selected = []
    this.colourBy = params['colour'] === 'kind' ? 'kind' : 'name'
    this.#written = ownText(params)
    this.#openOnSelection = params['t'] === undefined && this.selection.slices.length > 0
    if (this.selection.slices.length > 0) this.drawer = 'details'
    else if (this.selection.range) this.drawer = 'range'
    this.view.jump(spanFromText(params['t']) ?? this.#openingSpan(params) ?? this.model?.bounds ?? this.view.span)
    this.changed()
  }

  /** Without a time in the address the page opens on one step. */
  #openingSpan(params: Readonly<Record<string, string>>): Span | null {
    if (!this.model) return null
    const asked = numbers(params['step'])[0]
    if (asked !== undefined) {
      for (const rank of this.model.ranks.keys()) {
        const mark = this.model.step(rank, asked)
        if (mark) return widened(stepSpan(mark))
      }
    }
    const first = firstStep(this.model)
    return first ? widened(stepSpan(first.mark)) : null
  }

  #mirror(): void {
    const params = {
      ...toParams(this.state),
      ...selectionToParams(this.selection),
      open: openToText(this.opened),
      strips: this.stripOrder === 'slow' ? null : this.stripOrder,
      offset: offsetsToText(this.offsets),
      flag: flagsToText(this.flags),
      links: this.linkKinds.join(',') || null,
      colour: this.colourBy === 'kind' ? 'kind' : null,
    }
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
        void this.api.slice(key.rank, key.slice).then(
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
    this.view.jump(this.#hull(this.selected))
    this.onplaced?.(slice)
    this.moved()
  }

  #hull(slices: readonly SliceBrief[]): Span {
    const starts = slices.map((one) => one.at_ns + (this.offsets.get(one.rank) ?? 0))
    const ends = slices.map((one, i) => (starts[i] ?? 0) + one.dur_ns)
    const span = { start: Math.min(...starts), end: Math.max(...ends) }
    const room = Math.max((span.end - span.start) * 1.5, 1000)
    return { start: span.start - room, end: span.end + room }
  }
}

function titleOf(facts: RankFacts | undefined): string {
  return [facts?.host, facts?.device_name ?? facts?.device_kind].filter(Boolean).join(' · ')
}

const OWN = [
  'open',
  'strips',
  'show',
  'pin',
  'hide',
  'fold',
  'order',
  'sel',
  'range',
  'rows',
  'offset',
  'flag',
  'links',
  'colour',
  't',
  'step',
] as const

/** The timeline's own parameters as one text, to see whether they changed. */
function ownText(params: Readonly<Record<string, string | null>>): string {
  return OWN.map((name) => `${name}=${params[name] ?? ''}`).join('&')
}

function withTime(text: string, t: string): string {
  return text.replace(/&t=[^&]*/, `&t=${t}`)
}

function widened(span: Span): Span {
  const room = (span.end - span.start) * 0.02
  return { start: span.start - room, end: span.end + room }
}
