// Numbers as people read them: four significant digits and always a unit.
import { locale } from '../i18n/language.svelte'

const SIGNIFICANT = 4
const DURATIONS: readonly (readonly [number, string])[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
]
const BYTES: readonly string[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
const MISSING = '–'

type Maybe = number | null | undefined

const isNumber = (value: Maybe): value is number => typeof value === 'number' && Number.isFinite(value)

/** A duration in nanoseconds: `84.2 µs`, `1.204 s`. */
export function durationNs(ns: Maybe): string {
  if (!isNumber(ns)) return MISSING
  const size = Math.abs(ns)
  const [scale, unit] = DURATIONS.find(([limit]) => size >= limit) ?? [1, 'ns']
  return `${significant(ns / scale)} ${unit}`
}

/** A duration in microseconds, as the analyses give it. */
export function durationUs(us: Maybe): string {
  return isNumber(us) ? durationNs(us * 1000) : MISSING
}

/** A size in bytes: `1.5 GiB`. */
export function bytes(value: Maybe): string {
  if (!isNumber(value)) return MISSING
  let size = Math.abs(value)
  let step = 0
  while (size >= 1024 && step < BYTES.length - 1) {
    size /= 1024
    step += 1
  }
  return `${significant(Math.sign(value) * size)} ${BYTES[step]}`
}

/** A share of 0..1 as a percentage with one decimal. */
export function share(value: Maybe): string {
  if (!isNumber(value)) return MISSING
  const format = {
    style: 'percent',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
    signDisplay: 'negative',
  } as const
  return withMinus(new Intl.NumberFormat(locale(), format).format(value))
}

/** How many times as much: `1.202×`. */
export function ratio(value: Maybe): string {
  return isNumber(value) ? `${significant(value)}×` : MISSING
}

/** A count with its thousands apart. */
export function count(value: Maybe): string {
  return isNumber(value) ? new Intl.NumberFormat(locale(), { maximumFractionDigits: 0 }).format(value) : MISSING
}

/** Any number, four significant digits. */
export function plain(value: Maybe): string {
  return isNumber(value) ? significant(value) : MISSING
}

/** A rate with a decimal prefix: `312.4 TFLOP/s`. */
export function rate(value: Maybe, unit: string): string {
  if (!isNumber(value)) return MISSING
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P', 'E']
  let size = Math.abs(value)
  let step = 0
  while (size >= 1000 && step < prefixes.length - 1) {
    size /= 1000
    step += 1
  }
  return `${significant(Math.sign(value) * size)} ${prefixes[step]}${unit}`
}

/** Exact nanoseconds, digits grouped; takes the decimal text of the wire. */
export function exactNs(ns: string | bigint | number): string {
  return `${new Intl.NumberFormat(locale()).format(typeof ns === 'string' ? BigInt(ns) : ns)} ns`
}

/** The moment of an absolute time in ns since 1970; null where the capture's clock does not start there. */
export function dateOf(ns: string | null): string | null {
  if (ns === null) return null
  const ms = Number(BigInt(ns) / 1_000_000n)
  // Before 2000 the number is a time since boot, not a date.
  if (ms < 946_684_800_000) return null
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(ms))
}

function significant(value: number): string {
  const digits =
    Math.abs(value) >= 10 ** SIGNIFICANT ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: SIGNIFICANT }
  return withMinus(new Intl.NumberFormat(locale(), { ...digits, useGrouping: true }).format(value))
}

/** Numbers below zero carry the sign that sentences use, which is as wide as a plus. */
export function withMinus(text: string): string {
  return text.replace('-', '−')
}
