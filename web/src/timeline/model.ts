// What the timeline knows of a run: its ranks, their names and the colours of these.
import type { RankTracks, SliceBrief, StepMark, Tracks } from '../api/timeline'
import { coloursOfNames } from './palette'
import { shortName } from './shortName'
import { isSideB } from './sides'
import type { SearchQuery } from './search'
import type { Span } from './view'

export interface RankModel {
  readonly info: RankTracks
  names: readonly string[]
  colours: Uint8Array
  /** One byte per name, 1 = matches the search; null without a search. */
  bright: Uint8Array | null
  /** Names as labels show them, worked out when first drawn. */
  readonly short: Map<number, string>
}

export class RunModel {
  readonly ranks = new Map<number, RankModel>()
  /** One byte per kind, 1 = bright; null where kinds do not matter. */
  brightKinds: Uint8Array | null = null
  /** Durations in ns that stay bright; null where they do not matter. */
  brightDurations: { readonly least: number; readonly most: number } | null = null

  constructor(
    readonly tracks: Tracks,
    known: ReadonlyMap<number, RankModel> = new Map(),
  ) {
    for (const info of tracks.ranks) this.ranks.set(info.rank, known.get(info.rank) ?? modelOf(info))
  }

  /** The same run with more ranks; what is known of others stays. */
  withRanks(infos: readonly RankTracks[], end = 0): RunModel {
    const ranks = [...this.tracks.ranks, ...infos]
    return new RunModel({ ...this.tracks, ranks, end_at_ns: Math.max(end, this.tracks.end_at_ns) }, this.ranks)
  }

  withoutRanks(numbers: readonly number[]): RunModel {
    const ranks = this.tracks.ranks.filter((one) => !numbers.includes(one.rank))
    return new RunModel({ ...this.tracks, ranks }, this.ranks)
  }

  get length(): number {
    return this.tracks.end_at_ns
  }

  get bounds(): Span {
    return { start: 0, end: Math.max(1, this.tracks.end_at_ns) }
  }

  /** More names of a rank, as they come. */
  addNames(rank: number, offset: number, names: readonly string[]): void {
    const model = this.ranks.get(rank)
    if (!model || model.names.length !== offset) return
    model.names = [...model.names, ...names]
    model.colours = coloursOfNames(model.names)
  }

  name(rank: number, code: number): string {
    return this.ranks.get(rank)?.names[code] ?? '…'
  }

  /** The name as a label shows it. */
  label(rank: number, code: number): string {
    const model = this.ranks.get(rank)
    const known = model?.short.get(code)
    if (known !== undefined) return known
    const name = model?.names[code]
    if (name === undefined) return '…'
    const short = shortName(name)
    model?.short.set(code, short)
    return short
  }

  kind(code: number): string {
    return this.tracks.kinds[code] ?? ''
  }

  /** Mark the names that match; null brightens all. */
  brighten(matches: ((name: string) => boolean) | null): void {
    for (const model of this.ranks.values()) {
      model.bright = matches === null ? null : Uint8Array.from(model.names, (name) => (matches(name) ? 1 : 0))
    }
  }

  /** What a search says beside names: a kind, and how long a slice lasts at least and at most. */
  dimOthers(query: Pick<SearchQuery, 'kind' | 'least' | 'most'> | null): void {
    const { kind = null, least = null, most = null } = query ?? {}
    this.brightKinds =
      kind === null ? null : Uint8Array.from({ length: 256 }, (_, code) => Number(this.kind(code) === kind))
    this.brightDurations = least === null && most === null ? null : { least: least ?? 0, most: most ?? Infinity }
  }

  step(rank: number, step: number): StepMark | undefined {
    return this.ranks.get(rank)?.info.steps.find((mark) => mark.step === step)
  }
}

function modelOf(info: RankTracks): RankModel {
  return { info, names: info.names, colours: coloursOfNames(info.names), bright: null, short: new Map() }
}

/** Whether a row is one of Python frames, which are folded until asked for. */
export function isPython(model: RunModel | null, rank: number, row: number): boolean {
  const groups = model?.ranks.get(rank)?.info.groups ?? []
  return groups.some(
    ({ kind, tracks }) =>
      kind === 'python' && tracks.some((track) => row >= track.first_row && row < track.first_row + track.rows),
  )
}

/** The stretch that shows a step: its period, which all shares are of; else its host and device part together. */
export function stepSpan(mark: StepMark): Span {
  if (mark.period_at_ns !== null && mark.period_dur_ns !== null)
    return { start: mark.period_at_ns, end: mark.period_at_ns + mark.period_dur_ns }
  const deviceStart = mark.device_at_ns ?? mark.at_ns
  const deviceEnd = deviceStart + (mark.device_dur_ns ?? 0)
  return { start: Math.min(mark.at_ns, deviceStart), end: Math.max(mark.at_ns + mark.dur_ns, deviceEnd) }
}

/** The step to open with: of the slowest rank, the longest step that is whole and not warm-up. */
export function firstStep(model: RunModel): { rank: number; mark: StepMark } | null {
  let best: { rank: number; mark: StepMark } | null = null
  for (const { info } of model.ranks.values()) {
    if (isSideB(info.rank)) continue
    const whole = info.steps.filter((mark) => !mark.incomplete)
    const candidates = whole.filter((mark) => !mark.warm_up)
    for (const mark of candidates.length > 0 ? candidates : whole.length > 0 ? whole : info.steps) {
      if (best === null || lengthOf(mark) > lengthOf(best.mark)) best = { rank: info.rank, mark }
    }
  }
  return best
}

function lengthOf(mark: StepMark): number {
  const { start, end } = stepSpan(mark)
  return end - start
}

export function sliceSpan(slice: Pick<SliceBrief, 'at_ns' | 'dur_ns'>): Span {
  return { start: slice.at_ns, end: slice.at_ns + slice.dur_ns }
}
