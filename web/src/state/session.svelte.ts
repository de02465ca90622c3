// The run, ranks and steps the user is looking at. The address is the only place where the choice is kept.
import { analysis, type Document } from '../api/documents'
import { getRun, type RankFacts, type RunDetails } from '../api/runs'
import type { Diagnosis, Finding, RankRow, Ranks } from '../api/schema'
import { router } from '../router/router.svelte'
import { parseScope, type Scope } from '../router/scope'
import { parseVersus, type Versus } from '../router/versus'
import { slowestFirst } from './lateness'
import { Resource } from './resource.svelte'

export class Session {
  readonly #run: Resource<RunDetails>
  /** The one list of findings of the run, asked for once: all pages show parts of it. */
  readonly diagnosis: Resource<Document<Diagnosis>>
  /** Every rank with its times, asked for by whoever compares ranks: the picker, and a scope such as `slow:8`. */
  readonly #rankRows: Resource<Document<Ranks>>
  #rankRowsWanted = $state(false)
  readonly run: RunDetails | undefined = $derived.by(() =>
    this.#run.data?.summary.id === this.runId ? this.#run.data : undefined,
  )

  // Texts are compared by value: what depends on them does not change with each move of the view.
  readonly #scopeText: string = $derived(router.route.params['rank'] ?? '')
  readonly #pairText: string = $derived(router.route.params['pair'] ?? '')
  readonly #versusText: string | undefined = $derived(router.route.params['vs'])

  constructor() {
    this.#run = new Resource(
      () => this.runId,
      (signal) => getRun(this.runId ?? '', signal),
    )
    this.diagnosis = new Resource(
      () => (this.run?.analyses.includes('diagnose') ? this.runId : null),
      (signal) => analysis(this.runId ?? '', 'diagnose', {}, signal),
    )
    this.#rankRows = new Resource(
      () => (this.run && (this.#rankRowsWanted || this.#scopeText.includes('slow:')) ? this.runId : null),
      (signal) => analysis(this.runId ?? '', 'ranks', {}, signal),
    )
  }

  get runId(): string | null {
    return router.route.run
  }

  get resource(): Resource<RunDetails> {
    return this.#run
  }

  /** What was found, the most important first; empty until it is known. */
  get findings(): readonly Finding[] {
    return this.run ? (this.diagnosis.data?.data.findings ?? []) : []
  }

  /** The ranks that the address means: all, some, or one. */
  readonly scope: Scope = $derived.by(() =>
    parseScope(this.#scopeText, { ranks: this.run?.rank_list ?? [], slowest: this.#slowest }),
  )

  /** The ranks that the address names; where it names none, those that the timeline opened with, or the first of the run. */
  readonly ranks: readonly number[] = $derived.by(() => {
    const { ranks } = this.scope
    if (this.#scopeText !== '' && ranks.length > 0) return ranks
    const known = (this.run?.rank_list ?? []).map((one) => one.rank)
    const opened = numbers(this.#pairText).filter((rank) => known.includes(rank))
    return opened.length > 0 ? opened : known.slice(0, 1)
  })

  /** Whether the address names ranks. */
  get namesRanks(): boolean {
    return this.#scopeText !== ''
  }

  /** Times of all ranks side by side; asked for with the first look, undefined until they are there. */
  rankRows(): readonly RankRow[] | undefined {
    if (!this.#rankRowsWanted) queueMicrotask(() => (this.#rankRowsWanted = true))
    return this.#rankRows.data?.data.ranks
  }

  /** The other side of a comparison. */
  readonly versus: Versus | null = $derived.by(() => parseVersus(this.#versusText))

  get #slowest(): readonly number[] | undefined {
    const rows = this.#rankRows.data?.data.ranks
    if (rows) return slowestFirst(rows)
    // Where ranks cannot be compared none is slow.
    return this.#rankRows.error === undefined ? undefined : []
  }

  /** The one rank of pages that show one card. */
  get rank(): number | undefined {
    return this.ranks[0]
  }

  get rankEntry(): RankFacts | undefined {
    return this.run?.rank_list.find((entry) => entry.rank === this.rank)
  }

  /** Run and rank as the beginning of a file's name; a query and the cluster are of all ranks. */
  get filePrefix(): string {
    if (!this.run) return ''
    const ranks = ['sql', 'cluster', 'communication', 'compare'].includes(router.route.page)
      ? []
      : router.route.page === 'timeline'
        ? this.ranks
        : [this.rank]
    const words = ranks.length > 4 ? `${ranks.length}_ranks-` : ranks.map((rank) => `rank${rank}-`).join('')
    return `${this.run.summary.name}-${words}`
  }

  /** Ranks and steps of the address that the run does not have. */
  get unknown(): { readonly ranks: readonly string[]; readonly steps: readonly number[] } {
    const { run } = this
    if (!run) return { ranks: [], steps: [] }
    return {
      ranks: this.scope.unknown,
      steps: numbers(router.route.params['step']).filter((step) => !run.step_list.includes(step)),
    }
  }

  /** The chosen step; null means all. */
  get step(): number | null {
    const asked = numbers(router.route.params['step'])[0]
    return asked !== undefined && (this.run?.step_list.includes(asked) ?? false) ? asked : null
  }
}

/** Numbers of a list such as `0,13`; what is no number is left out. */
export function numbers(text: string | undefined): number[] {
  if (!text) return []
  return text
    .split(',')
    .filter((piece) => /^-?\d+$/.test(piece))
    .map(Number)
}
