// What a curve draws at the moments that matter, under the names of the answer: read aloud, and held to the answer.
import type { CurveSeries } from './timeOption'

/** The list of an answer that a curve is an entry of. */
export interface CurveSource {
  /** Such as `memory.curves`. */
  readonly question: string
  /** What tells the entry from others of its list. */
  readonly entry: Readonly<Record<string, string | number | null>>
  readonly field: string
  /** The answer's own moments, as the chart counts them, and its values. */
  readonly times: readonly number[]
  readonly values: readonly (number | null)[]
}

export interface ToldPoint {
  /** Name of the value in the answer, such as `allocated_bytes.17`. */
  readonly field: string
  readonly value: number
}

type Drawn = readonly (readonly [number, number | null])[]

/** The first, the highest and the last value of the answer, as they are drawn. */
export function toldPoints(series: CurveSeries, drawn: Drawn): readonly ToldPoint[] {
  const { source } = series
  if (!source || source.times.length === 0) return []
  const known = source.times.flatMap((_, index) => (isLastOfMoment(source, index) ? [index] : []))
  const valueOf = (index: number): number => source.values[index] ?? -Infinity
  const highest = known.reduce((best, index) => (valueOf(index) > valueOf(best) ? index : best), known[0] ?? 0)
  const wanted = new Set([known[0] ?? 0, highest, known.at(-1) ?? 0])
  return [...wanted].flatMap((index) => {
    const value = drawnAt(drawn, source.times[index] ?? 0)
    return value === null ? [] : [{ field: `${source.field}.${index}`, value }]
  })
}

/** Of several values at one moment the last holds; and what is not known is not drawn. */
function isLastOfMoment(source: CurveSource, index: number): boolean {
  return source.times[index] !== source.times[index + 1] && source.values[index] != null
}

function drawnAt(drawn: Drawn, time: number): number | null {
  return drawn.findLast(([at]) => at === time)?.[1] ?? null
}
