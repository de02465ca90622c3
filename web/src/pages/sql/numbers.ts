// Fractions of a result that stand below each other: with the same decimals, so that they can be compared at a glance.
import { locale } from '../../i18n/language.svelte'
import { withMinus } from '../../format/units'

const DECIMALS = 3
const MOST_DECIMALS = 12

const shown = (value: number, decimals: number): number => Number(value.toFixed(decimals))

/** How to write the numbers of a column: as few decimals as they need, more than three only where all are below one. */
export function fractionText(values: readonly unknown[]): (value: number) => string {
  const numbers = values.filter((value): value is number => typeof value === 'number' && Number.isFinite(value))
  const largest = numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const small = largest > 0 && largest < 1
  const cap = small ? Math.min(MOST_DECIMALS, DECIMALS - Math.floor(Math.log10(largest)) - 1) : DECIMALS
  let decimals = 0
  while (decimals < cap && numbers.some((value) => shown(value, decimals) !== shown(value, cap))) decimals += 1
  const format = new Intl.NumberFormat(locale(), { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
  return (value) => withMinus(format.format(value))
}
