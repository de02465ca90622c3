// The ranks that the timeline opens with where nobody chose any: the one that the first finding accuses, above a peer.
// The address keeps them as `pair`, which leaves with the page: other pages are not narrowed to them.
import { untrack } from 'svelte'
import { accusedAndPeer } from '../../findings/accused'
import { router } from '../../router/router.svelte'
import type { Session } from '../../state/session.svelte'

/** A run that was never diagnosed is shown without its findings after this time. */
const PATIENCE_MS = 2000
/** What another page's link is about is of the rank that it showed. */
const CHOSEN = ['pair', 'sel', 'range', 'step', 'show', 'q', 'tour', 'stack', 'open', 'track', 'pin', 'flag', 'offset']

export class OpeningPair {
  /** Whether the page still waits for what is not there yet, before it shows the rest. */
  patient = $state(true)
  /** Whether the page is to choose: decided as it opens, for what is done on it later is about what it shows. */
  #open = $state(true)
  /** The ranks that findings speak for; null where they accuse none, undefined until they are known. */
  readonly ranks: readonly number[] | null | undefined = $derived.by(() => {
    const { run, diagnosis, versus } = this.session
    if (!run || run.rank_list.length < 2 || !run.analyses.includes('diagnose')) return null
    if (diagnosis.error !== undefined || diagnosis.stopped) return null
    if (!diagnosis.data) return undefined
    const pair = accusedAndPeer(this.session.findings, run.rank_list)
    // The peer of a rank that is compared with another run is its twin there.
    return pair && versus ? pair.slice(0, 1) : pair
  })
  /** The page waits for the findings; a run that was diagnosed before has them at once. */
  readonly pending: boolean = $derived.by(() => {
    if (!this.#open || !this.session.run) return false
    return this.ranks === undefined ? this.patient || this.session.run.summary.verdict !== null : this.ranks !== null
  })
  /** Findings that came too late to open with what they accuse, which can still be asked for. */
  readonly late: readonly number[] | null = $derived.by(() => {
    const { ranks, session } = this
    const shown = session.namesRanks || router.route.params['pair'] !== undefined
    return ranks && !shown && !this.pending && !ranks.every((one) => session.ranks.includes(one)) ? ranks : null
  })

  constructor(readonly session: Session) {
    const { params } = router.route
    this.#open =
      !session.namesRanks && session.versus?.rank == null && CHOSEN.every((name) => params[name] === undefined)
    const timer = setTimeout(() => (this.patient = false), PATIENCE_MS)
    $effect(() => () => clearTimeout(timer))
    $effect(() => {
      if (!this.#open || !session.run || (this.ranks === undefined && this.pending)) return
      untrack(() => {
        const { route } = router
        this.#open = false
        if (this.#text !== null) router.replace({ ...route, params: { ...route.params, pair: this.#text } })
      })
    })
  }

  /** Show the ranks that findings speak for. */
  show(): void {
    router.change({ pair: this.#text })
  }

  get #text(): string | null {
    return this.ranks?.join(',') ?? null
  }
}
