// Lanes of ranks within a window as it is shown: ranks may be moved against each other, and be of two runs.
import type { LanesAnswer } from '../../api/timeline'
import { isSideB } from '../../timeline/sides'
import type { TimelineStore } from './store.svelte'

export async function shownLanes(
  store: TimelineStore,
  ranks: readonly number[],
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<LanesAnswer> {
  const groups = new Map<string, number[]>()
  for (const rank of ranks) {
    const key = `${isSideB(rank)} ${store.offsets.get(rank) ?? 0}`
    groups.set(key, [...(groups.get(key) ?? []), rank])
  }
  const answers = await Promise.all(
    [...groups.values()].map((group) => {
      const offset = store.offsets.get(group[0] ?? 0) ?? 0
      return store.api.lanes(group, from - offset, to - offset, signal)
    }),
  )
  const found = answers.flatMap((answer) => answer.ranks)
  return {
    lanes: answers[0]?.lanes ?? [],
    ranks: ranks.flatMap((rank) => found.find((one) => one.rank === rank) ?? []),
  }
}
