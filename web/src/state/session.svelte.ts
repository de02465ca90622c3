// The run, ranks and steps the user is looking at. The address is the only place where the choice is kept.
import { analysis, type Document } from '../api/documents'
import { getRun, type RankFacts, type RunDetails } from '../api/runs'
import type { Diagnosis, Finding } from '../api/schema'
import { router } from '../router/router.svelte'
import { Resource } from './resource.svelte'

export class Session {
  readonly #run: Resource<RunDetails>
  /** The one list of findings of the run, asked for once: all pages show parts of it. */
  readonly diagnosis: Resource<Document<Diagnosis>>
  readonly run: RunDetails | undefined = $derived.by(() =>
    this.#run.data?.summary.id === this.runId ? this.#run.data : undefined,
  )

  constructor() {
    this.#run = new Resource(
      () => this.runId,
      (signal) => getRun(this.runId ?? '', signal),
    )
    this.diagnosis = new Resource(
      () => (this.run?.analyses.includes('diagnose') ? this.runId : null),
      (signal) => analysis(this.runId ?? '', 'diagnose', {}, signal),
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

  /** Ranks of the address that the run has; else its first. */
  get ranks(): number[] {
    const known = this.run?.rank_list.map((entry) => entry.rank) ?? []
    const asked = numbers(router.route.params['rank']).filter((rank) => known.includes(rank))
    return asked.length > 0 ? asked : known.slice(0, 1)
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
    const ranks = ['sql', 'cluster'].includes(router.route.page)
      ? []
      : router.route.page === 'timeline'
        ? this.ranks
        : [this.rank]
    const words = ranks.length > 4 ? `${ranks.length}_ranks-` : ranks.map((rank) => `rank${rank}-`).join('')
    return `${this.run.summary.name}-${words}`
  }

  /** Ranks and steps of the address that the run does not have. */
  get unknown(): { readonly ranks: readonly number[]; readonly steps: readonly number[] } {
    const { run } = this
    if (!run) return { ranks: [], steps: [] }
    return {
      ranks: numbers(router.route.params['rank']).filter((rank) => !run.rank_list.some((one) => one.rank === rank)),
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
