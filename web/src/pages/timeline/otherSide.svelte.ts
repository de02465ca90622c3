// Side B of the timeline: the ranks of another run that stand below those of this one, each below its twin.
import type { RankFacts } from '../../api/schema'
import { getRun, type RunDetails } from '../../api/runs'
import { parseScope } from '../../router/scope'
import { Resource } from '../../state/resource.svelte'
import type { Session } from '../../state/session.svelte'
import { isSideB, SIDE_B } from '../../timeline/sides'
import type { Offsets } from '../../timeline/align'

export class OtherSide {
  readonly #details: Resource<RunDetails>
  readonly run: string | null = $derived.by(() => this.session.versus?.run ?? null)
  /** Numbers of its ranks on this timeline, in the order of the ranks above them; empty where nothing is compared. */
  readonly ranks: readonly number[] = $derived.by(() => {
    const { session } = this
    const { versus } = session
    const known = this.#known
    if (!versus || known.length === 0) return []
    const named = versus.rank === null ? [] : parseScope(versus.rank, { ranks: known, slowest: [] }).ranks
    const twins = session.ranks.filter((rank) => known.some((one) => one.rank === rank))
    const chosen = named.length > 0 ? named : twins.length > 0 ? twins : known.slice(0, 1).map((one) => one.rank)
    return chosen.map((rank) => SIDE_B + rank)
  })

  constructor(readonly session: Session) {
    this.#details = new Resource(
      () => this.run,
      (signal) => getRun(this.run ?? '', signal),
    )
  }

  /** Whether it is to come. */
  get pending(): boolean {
    return this.run !== null && this.#details.error === undefined && this.#known.length === 0
  }

  /** What is known of its ranks. */
  get #known(): readonly RankFacts[] {
    return this.#details.data?.summary.id === this.run ? (this.#details.data?.rank_list ?? []) : []
  }

  facts(rank: number): RankFacts | undefined {
    return this.#known.find((one) => one.rank + SIDE_B === rank)
  }

  /** The ranks of both sides, each of B below its twin: the one of the same number, else the next that is left. */
  below(order: readonly number[]): readonly number[] {
    const left = new Set(this.ranks)
    if (left.size === 0) return order
    const byNumber = this.session.versus?.rank === null
    const shown = order.flatMap((rank) => {
      const [next] = left
      const twin = byNumber && order.length > 1 ? rank + SIDE_B : next
      if (twin === undefined || !left.delete(twin)) return [rank]
      return [rank, twin]
    })
    return [...shown, ...left]
  }

  /** B moves as a whole: a rank of it without an offset of its own has that of the first that has one. */
  spread(own: Offsets): Offsets {
    const lead = leadOf(own)
    const by = lead === undefined ? undefined : own.get(lead)
    if (by === undefined) return own
    const all = new Map(own)
    for (const rank of this.ranks) if (!all.has(rank)) all.set(rank, by)
    return all
  }

  /** The offsets that say something: ranks of B that stand where the first of them does say nothing. */
  gathered(all: Offsets): Offsets {
    const lead = leadOf(all)
    const says = (rank: number, by: number): boolean => !isSideB(rank) || rank === lead || by !== all.get(lead ?? rank)
    return new Map([...all].filter(([rank, by]) => says(rank, by)))
  }
}

/** The rank of B that all others follow. */
function leadOf(offsets: Offsets): number | undefined {
  return [...offsets.keys()].find(isSideB)
}
