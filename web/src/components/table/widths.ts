// How wide a column must be for neither its heading nor its numbers to be cut off.
import { cellText, type Column } from './columns'

/** Padding of a cell, and the arrow beside a heading that is sorted by. */
const PADDING = 17
const ARROW = 14
/** Headings longer than this are cut, whatever the language. */
const MOST = 170
/** Rows whose numbers are measured, besides the least and the greatest. */
const SAMPLE = 40
/** Where nothing can be measured: the mean width of a character in the page's font. */
const LATIN = 7.5
const WIDE = 13

const IDEOGRAPH = /[\u2e80-\u9fff\uff00-\uffef]/

/** The CSS width of a column: as declared, but at least as wide as what must be legible in it. */
export function legibleWidth(declared: string, least: number): string {
  const fixed = /^(\d+)px$/.exec(declared)
  if (fixed) return `${Math.max(Number(fixed[1]), least)}px`
  const range = /^minmax\((\d+)px, (.+)\)$/.exec(declared)
  if (range) return `minmax(${Math.max(Number(range[1]), least)}px, ${range[2] ?? '1fr'})`
  return `minmax(${least}px, ${declared})`
}

/** The least pixels of a width that `legibleWidth` gives. */
export const leastOf = (width: string): number => Number(/^(?:minmax\()?(\d+)px/.exec(width)?.[1] ?? 0)

/** The columns that fit beside each other: while they do not, the last of those that may yield is left out. */
export function fitting<T>(
  columns: readonly Column<T>[],
  needs: (column: Column<T>) => number,
  room: number,
): readonly Column<T>[] {
  const shown = [...columns]
  let needed = shown.reduce((sum, column) => sum + needs(column), 0)
  while (needed > room) {
    const at = shown.findLastIndex((column) => column.yields)
    const [left] = at < 0 ? [] : shown.splice(at, 1)
    if (!left) break
    needed -= needs(left)
  }
  return shown
}

/** Pixels that a column needs: its heading in two lines, and its numbers, in one. Long names may be cut. */
export function leastWidth<T>(column: Column<T>, rows: readonly T[]): number {
  const heading = Math.min(MOST, inTwoLines(column.title)) + ARROW
  const numbers = column.numeric ? widest(column, rows) : 0
  return Math.ceil(Math.max(heading, numbers) + PADDING)
}

/** The width of a text broken where it is shortest; it breaks at spaces, and between Chinese characters. */
export function inTwoLines(text: string): number {
  let least = widthOf(text, 600)
  for (let at = 1; at < text.length; at += 1) {
    const [before, after] = [text[at - 1] ?? '', text[at] ?? '']
    if (after !== ' ' && !(IDEOGRAPH.test(before) && IDEOGRAPH.test(after))) continue
    least = Math.min(least, Math.max(widthOf(text.slice(0, at), 600), widthOf(text.slice(at).trim(), 600)))
  }
  return least
}

function widest<T>(column: Column<T>, rows: readonly T[]): number {
  let [least, greatest] = [rows[0], rows[0]]
  const value = (row: T | undefined): number => (row === undefined ? 0 : Number(column.value(row) ?? 0))
  for (const row of rows) {
    if (value(row) < value(least)) least = row
    if (value(row) > value(greatest)) greatest = row
  }
  const shown = [least, greatest, ...rows.slice(0, SAMPLE)].flatMap((row) =>
    row === undefined ? [] : [cellText(column, row)],
  )
  const longest = shown.reduce((long, text) => (text.length > long.length ? text : long), '')
  return widthOf(longest, 400)
}

const known = new Map<string, number>()
let pen: CanvasRenderingContext2D | null | undefined

function widthOf(text: string, weight: number): number {
  const key = `${weight} ${text}`
  const width = known.get(key) ?? measured(text, weight)
  known.set(key, width)
  return width
}

function measured(text: string, weight: number): number {
  pen ??= document.createElement('canvas').getContext('2d')
  if (!pen) return [...text].reduce((sum, letter) => sum + (IDEOGRAPH.test(letter) ? WIDE : LATIN), 0)
  const { fontSize, fontFamily } = getComputedStyle(document.body)
  pen.font = `${weight} ${fontSize} ${fontFamily}`
  return pen.measureText(text).width
}
