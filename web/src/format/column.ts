// Numbers that stand below each other: one unit and one number of decimals for all, so that they can be compared at a glance.
import { locale } from '../i18n/language.svelte'
import { withMinus } from './units'

/** What the numbers of a column measure: `us_change` is a difference, with its sign; `cores` are processors in use. */
export type Quantity = 'us' | 'us_change' | 'ns' | 'bytes' | 'flops' | 'flops_per_s' | 'gb_per_s' | 'ratio' | 'cores'

type Maybe = number | null | undefined
type Unit = readonly [size: number, name: string]

const MISSING = '–'
const MOST_DECIMALS = 3
/** A column whose largest number would have more digits than this keeps the larger unit. */
const MOST_UNITS = 100_000
/** Of columns that are read across: what is less than such a part of the largest does not decide the unit. */
const BESIDE = 10_000
const TIMES: readonly Unit[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
]
const SIZES: readonly Unit[] = [5, 4, 3, 2, 1, 0].map(
  (power) => [1024 ** power, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power] ?? 'B'] as const,
)

const decimal = (unit: string): readonly Unit[] =>
  ['E', 'P', 'T', 'G', 'M', 'k', ''].map((prefix, index) => [1000 ** (6 - index), `${prefix}${unit}`] as const)
const UNITS: Readonly<Record<Quantity, readonly Unit[]>> = {
  us: TIMES,
  us_change: TIMES,
  ns: TIMES,
  bytes: SIZES,
  flops: decimal('FLOP'),
  flops_per_s: decimal('FLOP/s'),
  gb_per_s: [[1, 'GB/s']],
  ratio: [[1, '×']],
  cores: [[1, '']],
}

/** How to write the values of a column; beside others in the unit of all of them, as far as its own numbers show in it. */
export function columnText(
  quantity: Quantity,
  values: readonly Maybe[],
  {
    beside = [],
    most = MOST_DECIMALS,
    wanted = SEEN,
  }: {
    beside?: readonly Maybe[]
    /** Decimals at most. */
    most?: number
    /** How much of the unit the least value must be, or the unit is a smaller one. */
    wanted?: number
  } = {},
): (value: Maybe) => string {
  const factor = quantity === 'us' || quantity === 'us_change' ? 1000 : 1
  const common = beside.length > 0 ? unitOf(UNITS[quantity], comparable([...values, ...beside]), factor, LEGIBLE) : null
  const joins = common !== null && (greatestOf(values) === 0 || (greatestOf(values) * factor) / common[0] >= LEGIBLE)
  const [size, name] = joins ? common : unitOf(UNITS[quantity], values, factor, wanted)
  const gap = name === '' || name === '×' ? '' : ' '
  const decimals = Math.min(most, decimalsOf(values.map((value) => ((value ?? 0) * factor) / size)))
  const least = 10 ** -decimals
  const format = new Intl.NumberFormat(locale(), {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
    signDisplay: quantity === 'us_change' ? 'exceptZero' : 'auto',
  })
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return MISSING
    const number = (value * factor) / size
    // What is something is not written as nothing.
    const isTiny = name !== '' && quantity !== 'us_change' && number > 0 && number < least / 2
    return `${isTiny ? `<${format.format(least)}` : withMinus(format.format(number))}${gap}${name}`
  }
}

/** As few decimals as all values need to be told apart from what more decimals would say: none for whole numbers. */
function decimalsOf(values: readonly number[]): number {
  const finest = values.map((value) => Math.round(value * 10 ** MOST_DECIMALS))
  const enough = (decimals: number): boolean =>
    finest.every((value) => value % 10 ** (MOST_DECIMALS - decimals) === 0 || !Number.isFinite(value))
  return [0, 1, 2].find(enough) ?? MOST_DECIMALS
}

const sizesOf = (values: readonly Maybe[]): number[] =>
  values.flatMap((value) =>
    typeof value === 'number' && Number.isFinite(value) && value !== 0 ? [Math.abs(value)] : [],
  )

const greatestOf = (values: readonly Maybe[]): number => sizesOf(values).reduce((most, size) => Math.max(most, size), 0)

/** As much of a unit is no zero, and as much has two digits. */
const SEEN = 10 ** -MOST_DECIMALS / 2
const LEGIBLE = 10 ** (1 - MOST_DECIMALS)

/** Without what is nothing beside the largest: it does not decide in which unit the others stand. */
function comparable(values: readonly Maybe[]): readonly Maybe[] {
  const least = greatestOf(values) / BESIDE
  return values.filter((value) => typeof value === 'number' && Math.abs(value) >= least)
}

/** The unit of the largest value; a smaller one where the least would be less than so much of it. */
function unitOf(units: readonly Unit[], values: readonly Maybe[], factor: number, wanted: number): Unit {
  const sizes = sizesOf(values).map((size) => size * factor)
  const smallest = units.at(-1) ?? [1, '']
  if (sizes.length === 0) return units.find(([, name]) => name === 'µs') ?? smallest
  let [least, greatest] = [Infinity, 0]
  for (const size of sizes) {
    least = Math.min(least, size)
    greatest = Math.max(greatest, size)
  }
  const largest = units.findIndex(([size]) => greatest >= size)
  let index = largest < 0 ? units.length - 1 : largest
  while (index < units.length - 1) {
    const [now, next] = [units[index] ?? smallest, units[index + 1] ?? smallest]
    if (least / now[0] >= wanted || greatest / next[0] >= MOST_UNITS) break
    index += 1
  }
  return units[index] ?? smallest
}
