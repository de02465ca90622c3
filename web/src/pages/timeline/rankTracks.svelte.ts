// The tracks of ranks as they come from the server: of the first rank, or the two that are compared, with the page, of
// others when they are opened.
import { untrack } from 'svelte'
import type { TwoSides } from '../../api/twoSides'
import type { Tracks } from '../../api/timeline'
import { Resource } from '../../state/resource.svelte'
import type { Session } from '../../state/session.svelte'
import { RunModel } from '../../timeline/model'
import { isSideB } from '../../timeline/sides'

/** Ranks whose tracks are asked for at once. */
const MOST_FETCHED = 16

interface Listener {
  /** Another store of the run: what was drawn of it is void. */
  readonly onreplaced: () => void
  /** Ranks are there; `first` with the page. */
  readonly onranks: (ranks: readonly number[], first: boolean) => void
  readonly onchange: () => void
  readonly onerror: (error: unknown) => void
  /** Aborted when nobody listens any more. */
  readonly gone: AbortSignal
}

export class RankTracksLoader {
  model = $state.raw<RunModel | null>(null)
  readonly resource: Resource<Tracks>
  readonly #asked = new Set<number>()
  #version = ''

  constructor(
    session: Session,
    opening: { readonly pending: boolean },
    private readonly api: TwoSides,
    private readonly listener: Listener,
  ) {
    /** What the page shows first: one rank, or two above each other. */
    const first = (): readonly number[] => session.ranks.slice(0, session.ranks.length === 2 ? 2 : 1)
    this.resource = new Resource(
      () => (session.run && !opening.pending ? `${session.run.summary.version}/${first().join()}` : null),
      (signal) => api.tracks(first(), signal),
    )
    $effect(() => this.#adopt(this.resource.data))
  }

  #adopt(tracks: Tracks | undefined): void {
    if (!tracks) return
    untrack(() => {
      const first = this.model === null
      const known = tracks.version === this.#version ? this.model : null
      const others = known?.tracks.ranks.filter((one) => !tracks.ranks.some((rank) => rank.rank === one.rank)) ?? []
      this.model = new RunModel({ ...tracks, ranks: [...tracks.ranks, ...others] }, known?.ranks)
      if (!known) {
        this.#asked.clear()
        this.#version = tracks.version
        this.listener.onreplaced()
      }
      for (const rank of tracks.ranks) this.#moreNames(rank.rank).catch(this.listener.onerror)
      this.listener.onranks(
        tracks.ranks.map((one) => one.rank),
        first,
      )
    })
  }

  /** Tracks of ranks that are not there yet. */
  fetch(ranks: readonly number[]): void {
    untrack(() => {
      const missing = ranks.filter((rank) => !this.model?.ranks.has(rank) && !this.#asked.has(rank))
      const sides = [missing.filter((rank) => !isSideB(rank)), missing.filter(isSideB)]
      for (const side of sides) {
        const wanted = side.slice(0, MOST_FETCHED)
        for (const rank of wanted) this.#asked.add(rank)
        if (wanted.length > 0)
          this.api.tracks(wanted, this.listener.gone).then((tracks) => this.#add(tracks, wanted), this.listener.onerror)
      }
    })
  }

  /** Another run is side B, or none: what was loaded of the one before goes. */
  forgetSideB(): void {
    untrack(() => {
      for (const rank of this.#asked) if (isSideB(rank)) this.#asked.delete(rank)
      const others = [...(this.model?.ranks.keys() ?? [])].filter(isSideB)
      if (others.length === 0 || !this.model) return
      this.model = this.model.withoutRanks(others)
      this.listener.onreplaced()
      this.listener.onchange()
    })
  }

  #add(tracks: Tracks, wanted: readonly number[]): void {
    const isOther = wanted.some(isSideB)
    if ((tracks.version !== this.#version && !isOther) || !this.model) return
    this.model = this.model.withRanks(tracks.ranks, tracks.end_at_ns)
    for (const rank of wanted) this.#moreNames(rank).catch(this.listener.onerror)
    this.listener.onranks(wanted, false)
  }

  async #moreNames(rank: number): Promise<void> {
    for (;;) {
      const model = this.model
      const known = model?.ranks.get(rank)?.names.length ?? 0
      if (known >= (model?.ranks.get(rank)?.info.names_total ?? 0)) return
      const { names, total } = await this.api.names(rank, known, this.listener.gone)
      model?.addNames(rank, known, names)
      this.listener.onchange()
      if (names.length === 0 || known + names.length >= total) return
    }
  }
}
