// Where the time of the visible window goes, asked for when the view has come to rest.
import type { LanesAnswer } from '../../api/timeline'
import { Resource } from '../../state/resource.svelte'
import { shownLanes } from './shownLanes'
import type { TimelineStore } from './store.svelte'

const SETTLE_MS = 250

export class WindowLanes {
  window = $state.raw<{ readonly from: number; readonly to: number } | null>(null)
  readonly lanes: Resource<LanesAnswer>

  constructor(store: TimelineStore) {
    $effect(() => {
      void store.revision
      if (!store.model) return undefined
      // While the view moves the numbers wait.
      const timer = setTimeout(() => {
        const from = Math.max(0, Math.floor(store.view.start))
        const to = Math.max(from + 1, Math.ceil(store.view.end))
        if (this.window?.from !== from || this.window.to !== to) this.window = { from, to }
      }, SETTLE_MS)
      return () => clearTimeout(timer)
    })
    // Of many ranks those that are open: the others are strips.
    this.lanes = new Resource(
      () => (this.window ? [this.window, store.openRanks, [...store.offsets]] : null),
      (signal) => shownLanes(store, store.openRanks, this.window?.from ?? 0, this.window?.to ?? 1, signal),
    )
  }
}
