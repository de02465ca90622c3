// The order of the strips of ranks: those furthest behind first, by number, or those of one host or group together.
import type { RankFacts } from '../api/schema'

export const STRIP_ORDERS = ['slow', 'number', 'host', 'dp', 'tp', 'pp'] as const
export type StripOrder = (typeof STRIP_ORDERS)[number]

export function stripOrderOf(text: string | undefined): StripOrder {
  return STRIP_ORDERS.find((order) => order === text) ?? 'slow'
}

interface Known {
  /** Numbers of the ranks, the furthest behind first. */
  readonly slowest: readonly number[]
  readonly facts: readonly Pick<RankFacts, 'rank' | 'host' | 'dp' | 'tp' | 'pp'>[]
}

/** Ranks of which nothing is known come last, by number. */
export function inOrder(ranks: readonly number[], order: StripOrder, known: Known): readonly number[] {
  if (order === 'number') return ranks.toSorted((a, b) => a - b)
  if (order === 'slow') {
    const place = new Map(known.slowest.map((rank, index) => [rank, index]))
    return ranks.toSorted((a, b) => (place.get(a) ?? Infinity) - (place.get(b) ?? Infinity) || a - b)
  }
  const group = new Map(known.facts.flatMap((one) => (one[order] === null ? [] : [[one.rank, String(one[order])]])))
  const { compare } = new Intl.Collator('en', { numeric: true })
  return ranks.toSorted((a, b) => {
    const [ofA, ofB] = [group.get(a), group.get(b)]
    if (ofA === undefined || ofB === undefined) return Number(ofA === undefined) - Number(ofB === undefined) || a - b
    return compare(ofA, ofB) || a - b
  })
}

/** Which of the orders say something about these ranks. */
export function usefulOrders(facts: Known['facts']): readonly StripOrder[] {
  const differ = (order: 'host' | 'dp' | 'tp' | 'pp'): boolean => new Set(facts.map((one) => one[order])).size > 1
  return STRIP_ORDERS.filter((order) => order === 'slow' || order === 'number' || differ(order))
}
