// The search of the timeline: hits, where we are among them, and which names stay bright.
import type { Found, SliceBrief } from '../../api/timeline'
import { isAborted } from '../../api/errors'
import { router } from '../../router/router.svelte'
import { cursorsOf, foundOfBoth } from '../../timeline/foundOfBoth'
import { nameMatcher, parseSearch, toQuery, type SearchQuery } from '../../timeline/search'
import { isSideB } from '../../timeline/sides'
import { go } from './actions'
import type { TimelineStore } from './store.svelte'

const WAIT_MS = 200
const MOST_LISTED = 500

export class SearchState {
  text = $state(router.route.params['q'] ?? '')
  result = $state.raw<Found | null>(null)
  error = $state.raw<unknown>(null)
  busy = $state(false)
  /** Number of the current hit, from 1. */
  position = $state(0)
  current = $state.raw<SliceBrief | null>(null)

  constructor(private readonly store: TimelineStore) {
    $effect(() => {
      const query = parseSearch(this.text)
      const { model } = store
      if (!model) return undefined
      model.brighten(query ? nameMatcher(query) : null)
      model.dimOthers(query)
      store.changed()
      router.adjust({ q: this.text.trim() || null })
      this.current = null
      this.position = 0
      if (!query) {
        this.result = null
        store.searchTicks = []
        return undefined
      }
      const stop = new AbortController()
      const timer = setTimeout(() => void this.#run(query, stop.signal), WAIT_MS)
      return () => {
        clearTimeout(timer)
        stop.abort()
      }
    })
  }

  async #run(query: SearchQuery, signal: AbortSignal): Promise<void> {
    this.busy = true
    try {
      this.result = await this.#ask(query, null, 0, MOST_LISTED, signal)
      this.store.searchTicks = this.result.ticks
      this.error = null
    } catch (error) {
      this.#failed(error)
    } finally {
      this.busy = false
    }
  }

  /** Hits on the ranks whose tracks are there, of both runs where two are compared; next and previous are from `current`. */
  async #ask(
    query: SearchQuery,
    current: SliceBrief | null,
    moment: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<Found> {
    const { api, model, offsets } = this.store
    const ranks = [...(model?.ranks.keys() ?? [])]
    const [ofA, ofB] = [ranks.filter((rank) => !isSideB(rank)), ranks.filter(isSideB)]
    const moved = Math.round(offsets.get(ofB[0] ?? 0) ?? 0)
    const [fromA, fromB] = cursorsOf(current, isSideB(current?.rank ?? 0), moment, moved)
    const ask = (of: readonly number[], cursor: Record<string, number>): Promise<Found> =>
      api.search({ ...toQuery(query, of), ...cursor, limit }, signal)
    if (ofB.length === 0) return await ask(ofA, fromA)
    const [a, b] = await Promise.all([ask(ofA, fromA), ask(ofB, fromB)])
    return foundOfBoth(a, b, moved, limit)
  }

  #failed(error: unknown): void {
    if (!isAborted(error)) this.error = error
  }

  /** Go to the next or previous hit, from the current one or from the left edge of the window. */
  async step(direction: 'next' | 'previous'): Promise<void> {
    const query = parseSearch(this.text)
    const { model, view } = this.store
    if (!query || !model) return
    try {
      this.#arrive(direction, await this.#ask(query, this.current, Math.round(view.start), 1, this.store.gone))
    } catch (error) {
      this.#failed(error)
    }
  }

  #arrive(direction: 'next' | 'previous', result: Found): void {
    const hit = direction === 'next' ? result.next : result.previous
    if (!hit) return
    const before = result.position ?? 0
    this.position = direction === 'next' ? before + (this.current ? 2 : 1) : before
    this.show(hit)
  }

  show(hit: SliceBrief): void {
    this.current = hit
    go(this.store, hit)
    this.store.drawer = 'search'
  }
}
