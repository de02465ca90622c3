// The search of the timeline: hits, where we are among them, and which names stay bright.
import type { Found, SliceBrief } from '../../api/timeline'
import { isAborted } from '../../api/errors'
import { router } from '../../router/router.svelte'
import { nameMatcher, parseSearch, toQuery } from '../../timeline/search'
import { go } from './actions'
import type { TimelineStore } from './store.svelte'

const WAIT_MS = 200

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
      const timer = setTimeout(() => void this.#run(toQuery(query, [...model.ranks.keys()]), stop.signal), WAIT_MS)
      return () => {
        clearTimeout(timer)
        stop.abort()
      }
    })
  }

  async #run(query: Record<string, unknown>, signal: AbortSignal): Promise<void> {
    this.busy = true
    try {
      this.result = await this.store.api.search({ ...query, limit: 500 } as never, signal)
      this.store.searchTicks = this.result.ticks
      this.error = null
    } catch (error) {
      this.#failed(error)
    } finally {
      this.busy = false
    }
  }

  #failed(error: unknown): void {
    if (!isAborted(error)) this.error = error
  }

  /** Go to the next or previous hit, from the current one or from the left edge of the window. */
  async step(direction: 'next' | 'previous'): Promise<void> {
    const query = parseSearch(this.text)
    const { model, view } = this.store
    if (!query || !model) return
    const from = this.current
      ? { current_rank: this.current.rank, current_slice: this.current.slice }
      : { at_ns: Math.max(0, Math.round(view.start)) }
    const request = { ...toQuery(query, [...model.ranks.keys()]), ...from, limit: 1 }
    try {
      this.#arrive(direction, await this.store.api.search(request as never, this.store.gone))
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
