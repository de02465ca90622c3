// One unit for all ticks of an axis, that of the largest value: 0.5 GiB below 1 GiB, and 0 without a unit.
import { plain } from '../../format/units'

type Unit = readonly [size: number, name: string]
const TIMES: readonly Unit[] = [
  [1e6, 's'],
  [1e3, 'ms'],
  [1, 'µs'],
  [1e-3, 'ns'],
]
const SIZES: readonly Unit[] = [5, 4, 3, 2, 1, 0].map(
  (power) => [1024 ** power, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power] ?? 'B'] as const,
)

interface AxisLabel {
  readonly axisLabel: { readonly formatter: (value: number) => string }
}

/** Words of the ticks of an axis of µs, up to the largest of the values that are drawn. */
export function timeTicks(drawn: readonly (number | null | undefined)[]): AxisLabel {
  return inUnit(
    TIMES,
    drawn.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0),
  )
}

/** Words of the ticks of an axis of bytes. */
export function sizeTicks(most: number): AxisLabel {
  return inUnit(SIZES, most)
}

function inUnit(units: readonly Unit[], most: number): AxisLabel {
  const [size, name] = units.find(([limit]) => most >= limit) ?? units.at(-1) ?? [1, '']
  return { axisLabel: { formatter: (value) => (value === 0 ? '0' : `${plain(value / size)} ${name}`) } }
}
