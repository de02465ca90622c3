// Ways from the cluster to single ranks.
import { router } from '../../router/router.svelte'
import { toPage } from '../../router/route'

/** As many ranks fit below each other on the timeline. */
const MOST_TOGETHER = 8

/** The page of one rank that goes on with what the bars show: its steps. */
export function hrefOfRank(rank: number): string {
  return router.href('steps', { rank: String(rank) })
}

export function openRank(rank: number): void {
  router.push(toPage(router.route, 'steps', { rank: String(rank) }))
}

/** Several ranks side by side on the timeline, as far as there are files of them. */
export function openRanks(wanted: readonly number[], captured: readonly number[]): void {
  const ranks = [...new Set(wanted)].filter((rank) => captured.includes(rank)).slice(0, MOST_TOGETHER)
  if (ranks.length > 0)
    router.push(toPage(router.route, 'timeline', { rank: ranks.toSorted((a, b) => a - b).join(','), t: null }))
}
