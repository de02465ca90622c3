// The critical path of the chosen step, drawn as a red line under the slices that are on it, and what bounds it.
import { analysis, sql } from '../../api/documents'
import { isAborted, sentenceOf } from '../../api/errors'
import type { BoundShare, CriticalPath as PathOfStep, PathPart } from '../../api/schema'
import { t } from '../../i18n/language.svelte'
import { share } from '../../format/units'
import { said } from '../../state/texts.svelte'
import type { PathSegment } from '../../timeline/draw/overlay'
import type { TimelineStore } from './store.svelte'

const SHOWN_BOUNDS = 5
/** Slices of one question about places; a path of a step has some thousands. */
const AT_ONCE = 5000

export class CriticalPath {
  on = $state(false)
  /** What the path is made of, or why there is none. */
  note = $state<string | null>(null)

  constructor(private readonly store: TimelineStore) {
    $effect(() => {
      const { session } = store
      if (!this.on || session.rank === undefined || !store.model) {
        store.path = []
        this.note = null
        return undefined
      }
      const stop = new AbortController()
      void this.#load(session.rank, session.step, stop.signal)
      return () => stop.abort()
    })
  }

  toggle(): void {
    this.on = !this.on
  }

  async #load(rank: number, step: number | null, signal: AbortSignal): Promise<void> {
    try {
      const run = this.store.session.runId ?? ''
      const answer = await analysis<readonly PathOfStep[]>(run, 'critical-path', { rank, step }, signal)
      const path = answer.data.find((one) => one.rank === rank)
      const places = await this.#places(run, rank, path?.path ?? [], signal)
      this.store.path = (path?.path ?? []).map((part) => this.#segment(rank, part, places))
      this.note = path ? t('timeline.path_of', { step: path.step, bounds: bounds(path.by_bound) }) : null
    } catch (error) {
      if (isAborted(error)) return
      this.store.path = []
      this.note = t('timeline.path_none', { why: sentenceOf(error) })
    }
  }

  /** Rows of the slices: their place on the screen is not part of the analysis. */
  async #places(
    run: string,
    rank: number,
    parts: readonly PathPart[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, number>> {
    const groups = this.store.model?.ranks.get(rank)?.info.groups ?? []
    const firstRow = new Map(groups.flatMap((group) => group.tracks).map((track) => [track.track, track.first_row]))
    const slices = [...new Set(parts.flatMap((part) => part.slice ?? []))]
    const places = new Map<number, number>()
    for (let from = 0; from < slices.length; from += AT_ONCE) {
      const some = slices.slice(from, from + AT_ONCE).join(', ')
      const query = `SELECT slice, track, "row" FROM slices WHERE rank = ${rank} AND slice IN (${some})`
      for (const line of (await sql(run, query, AT_ONCE, signal)).data) {
        const first = firstRow.get(Number(line['track']))
        if (first !== undefined) places.set(Number(line['slice']), first + Number(line['row']))
      }
    }
    return places
  }

  #segment(rank: number, part: PathPart, places: ReadonlyMap<number, number>): PathSegment {
    const start = Number(BigInt(part.start_ns) - BigInt(this.store.model?.tracks.origin_ns ?? '0'))
    const row = part.slice === null ? null : (places.get(part.slice) ?? null)
    return { rank, start, end: start + part.duration_us * 1000, row }
  }
}

function bounds(shares: readonly BoundShare[]): string {
  const largest = shares.toSorted((a, b) => b.share - a.share).slice(0, SHOWN_BOUNDS)
  return largest.map((one) => `${said('path_bound', one.bound)} ${share(one.share)}`).join(', ')
}
