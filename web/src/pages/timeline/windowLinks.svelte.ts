// Links by category for the visible window, sampled by the server; asked for when the view has come to rest.
import type { TimelineStore } from './store.svelte'

const SETTLE_MS = 200
const MOST = 2000

export function watchLinks(store: TimelineStore): void {
  $effect(() => {
    void store.revision
    const kinds = store.linkKinds
    const { model } = store
    if (!model || kinds.length === 0) {
      store.windowFlows = null
      return undefined
    }
    const stop = new AbortController()
    const timer = setTimeout(() => {
      const from = Math.floor(store.view.start)
      const window = {
        from_ns: from,
        to_ns: Math.max(from + 1, Math.ceil(store.view.end)),
        rows: [...model.ranks.keys()].map((rank) => ({ rank })),
        kinds,
        limit: MOST,
        bins: Math.max(1, Math.min(4000, store.width)),
      }
      store.api.flows(window, stop.signal).then((flows) => (store.windowFlows = flows), store.failed)
    }, SETTLE_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  })
}
