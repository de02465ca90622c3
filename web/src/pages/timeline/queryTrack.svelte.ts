// Asks for the query whose result is a track, when the address names one.
import { sql } from '../../api/documents'
import { relative } from '../../components/chart/moments'
import { router } from '../../router/router.svelte'
import { queryOf, queryTrack } from '../../timeline/queryTrack'
import type { TimelineStore } from './store.svelte'

const LIMIT = 5000

export function watchQuery(store: TimelineStore): void {
  const query = $derived(queryOf(router.route.params))
  $effect(() => {
    const { model, session } = store
    if (query === null || !model || !session.run) {
      store.query = null
      return undefined
    }
    const stop = new AbortController()
    const zero = (rank: number): bigint => {
      const facts = session.run?.rank_list.find((one) => one.rank === rank)
      return BigInt(model.tracks.origin_ns) - BigInt(facts?.clock_offset_ns ?? '0')
    }
    sql(session.runId ?? '', query, LIMIT, stop.signal).then(({ data }) => {
      store.query = queryTrack(data, session.rank ?? 0, (rank, ns) => relative(ns, zero(rank)))
      store.changed()
    }, store.failed)
    return () => stop.abort()
  })
}
