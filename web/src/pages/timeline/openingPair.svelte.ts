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
  /** It opened with something else, or the findings were waited for in vain: nothing changes by itself any more. */
  #settled = $state(false)
  /** Whether the page is to choose: nobody did, and nothing in the address is about what it shows. */
  readonly #open: boolean = $derived.by(() => {
    const { page, params } = router.route
    const free = !this.session.namesRanks && this.session.versus?.rank == null
    return page === 'timeline' && free && CHOSEN.every((name) => params[name] === undefined)
  })
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
  /** The page waits for the findings; those of a run that was diagnosed before are on their way. */
  readonly pending: boolean = $derived.by(() => {
    if (!this.#open || this.#settled) return false
    return this.ranks === undefined ? this.patient || this.#isKnown : this.ranks !== null
  })
  /** What findings accuse where the page opened without it, which can still be asked for. */
  readonly late: readonly number[] | null = $derived(this.#settled && this.#open ? (this.ranks ?? null) : null)

  constructor(readonly session: Session) {
    this.#settled = !this.#open && router.route.params['pair'] === undefined
    const timer = setTimeout(() => {
      this.#settled ||= this.ranks === undefined && !this.#isKnown
      this.patient = false
    }, PATIENCE_MS)
    $effect(() => () => clearTimeout(timer))
    $effect(() => {
      const pair = this.#text
      if (!this.#open || this.#settled || pair === null) return
      untrack(() => router.replace({ ...router.route, params: { ...router.route.params, pair } }))
    })
  }

  /** Show the ranks that findings speak for. */
  show(): void {
    router.change({ pair: this.#text })
  }

  get #isKnown(): boolean {
    return this.session.run?.summary.verdict != null
  }

  get #text(): string | null {
    return this.ranks?.join(',') ?? null
  }
}
