// Colour scales of heat maps.

export interface Scale {
  readonly low: number
  readonly high: number
}

/** Amounts begin at nothing, so that equal ones look equal beside cells without any. Missing values do not count.
 *
 * It ends at percentile 98, so that one outlier does not bleach the rest.
 */
export function amountScale(values: Float64Array): Scale {
  const known = values.filter((value) => Number.isFinite(value)).toSorted()
  return { low: 0, high: known[Math.round(0.98 * (known.length - 1))] ?? 0 }
}

/** So small a part of the whole is noise: ranks that are nearly alike look alike. */
const LEAST_SPREAD = 0.1

/** From the lowest to the highest value, so that a single one that is far off stands out.
 *
 * It spans at least a tenth of `whole`: of the step that values are part of, else of the median value.
 */
export function deviationScale(values: readonly number[], whole?: number | null): Scale {
  const known = values.filter((value) => Number.isFinite(value)).toSorted((a, b) => a - b)
  const [low] = known
  if (low === undefined) return { low: 0, high: 0 }
  const median = known[Math.floor(known.length / 2)] as number
  const least = (whole ?? Math.abs(median)) * LEAST_SPREAD
  return { low, high: Math.max(known.at(-1) as number, low + least) }
}

/** One of a few kinds that a cell can be of, with the CSS variable of its colour. */
export interface Category {
  readonly name: string
  readonly colour: string
}

type Stop = readonly [number, number, number]

/** From pale to deep blue-violet: monotone in lightness, so it also works in grey and for colour-blind readers. */
const LIGHT: readonly Stop[] = [
  [240, 245, 252],
  [171, 201, 240],
  [94, 145, 219],
  [48, 84, 176],
  [40, 26, 96],
]
const DARK: readonly Stop[] = [
  [32, 40, 54],
  [40, 74, 128],
  [62, 122, 190],
  [122, 188, 226],
  [236, 246, 214],
]

/** 256 packed colours of a scale. */
export function colourTable(dark: boolean): Uint32Array {
  const stops = dark ? DARK : LIGHT
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (stops.length - 1)
    const before = Math.min(stops.length - 2, Math.floor(place))
    const [a, b] = [stops[before] as Stop, stops[before + 1] as Stop]
    const mixed = a.map((value, channel) => Math.round(value + ((b[channel] ?? 0) - value) * (place - before)))
    return ((255 << 24) | ((mixed[2] ?? 0) << 16) | ((mixed[1] ?? 0) << 8) | (mixed[0] ?? 0)) >>> 0
  })
}

/** Place of a value in the table. */
export function colourIndex(value: number, scale: Scale): number {
  if (scale.high === scale.low) return value >= scale.high ? 128 : 0
  const part = (value - scale.low) / (scale.high - scale.low)
  return Math.round(255 * Math.min(1, Math.max(0, part)))
}

/** Ink that can be read on a colour of the table; null is the ground of what has no value. */
export function inkOn(index: number | null, dark: boolean): string | null {
  if (index === null) return null
  return dark === index > 120 ? '#10151c' : '#f5f7fa'
}
