// What may come next in a query: tables after FROM, columns of the tables that it names, words of SQL.
import type { TableInfo } from '../../api/schema'

export interface Proposal {
  readonly text: string
  readonly kind: 'table' | 'column' | 'word'
  /** What it means, or its type. */
  readonly detail: string
}

export interface Completion {
  /** Where the word begins that a proposal replaces. */
  readonly from: number
  readonly proposals: readonly Proposal[]
}

const MOST = 12
const WORDS = (
  'SELECT FROM WHERE GROUP ORDER BY HAVING LIMIT OFFSET JOIN LEFT USING ON AS AND OR NOT IN IS NULL LIKE ILIKE BETWEEN ' +
  'CASE WHEN THEN ELSE END DISTINCT UNION WITH OVER PARTITION DESC ASC QUALIFY count sum avg min max median ' +
  'quantile_cont stddev lag lead row_number first last round abs coalesce regexp_matches list string_agg'
).split(' ')

/** The proposals at the cursor; none inside a text or a comment. */
export function complete(text: string, cursor: number, tables: readonly TableInfo[], asked = false): Completion {
  const before = text.slice(0, cursor)
  const word = /[\w.]*$/.exec(before)?.[0] ?? ''
  const none = { from: cursor, proposals: [] }
  if (isQuoted(before) || (word === '' && !asked)) return none
  const dot = word.lastIndexOf('.')
  const prefix = word.slice(dot + 1).toLowerCase()
  const from = cursor - prefix.length
  const known = dot >= 0 ? columnsOf(ownerOf(word.slice(0, dot), text, tables)) : candidates(before, word, text, tables)
  const starts = known.filter((one) => one.text.toLowerCase().startsWith(prefix))
  const inside = known.filter(
    (one) => !starts.includes(one) && prefix.length > 1 && one.text.toLowerCase().includes(prefix),
  )
  const proposals = [...starts, ...inside].filter((one) => one.text.toLowerCase() !== prefix).slice(0, MOST)
  return { from, proposals }
}

/** Whether the end of a text lies inside quotes or behind a comment's dashes. */
function isQuoted(before: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1)
  return /--/.test(line.replaceAll(/'[^']*'/g, '')) || (before.match(/'/g)?.length ?? 0) % 2 === 1
}

function candidates(before: string, word: string, text: string, tables: readonly TableInfo[]): readonly Proposal[] {
  const lead = before.slice(0, before.length - word.length)
  const afterFrom = /\b(from|join)\s+$/i.test(lead) || /\bfrom\s+[\w\s,]*,\s*$/i.test(lead)
  const named = tables.map(({ name, meaning }): Proposal => ({ text: name, kind: 'table', detail: meaning }))
  if (afterFrom) return named
  const columns = new Map(
    tablesIn(text, tables)
      .flatMap((table) => columnsOf(table))
      .map((one) => [one.text, one] as const),
  )
  const words = WORDS.map((one): Proposal => ({ text: one, kind: 'word', detail: '' }))
  return [...columns.values(), ...words, ...named]
}

function columnsOf(table: TableInfo | undefined): readonly Proposal[] {
  return (table?.columns ?? []).map(({ name, type, meaning }) => ({
    text: name,
    kind: 'column',
    detail: meaning ? `${type} · ${meaning}` : type,
  }))
}

/** The tables that a query reads from. */
export function tablesIn(text: string, tables: readonly TableInfo[]): readonly TableInfo[] {
  const words = new Set(text.toLowerCase().match(/\w+/g))
  return tables.filter((table) => words.has(table.name.toLowerCase()))
}

/** The table behind a name or an alias, as in `FROM slices AS s`. */
function ownerOf(name: string, text: string, tables: readonly TableInfo[]): TableInfo | undefined {
  const wanted = name.toLowerCase()
  const aliased = new RegExp(`\\b(\\w+)\\s+(?:as\\s+)?${wanted.replaceAll(/\W/g, '')}\\b`, 'i').exec(text)?.[1]
  return tables.find((table) => [wanted, aliased?.toLowerCase()].includes(table.name.toLowerCase()))
}

/** The text with a proposal in place of the word before the cursor, and where the cursor then stands. */
export function accepted(
  text: string,
  cursor: number,
  completion: Completion,
  proposal: Proposal,
): { text: string; cursor: number } {
  const head = text.slice(0, completion.from) + proposal.text
  return { text: head + text.slice(cursor), cursor: head.length }
}
