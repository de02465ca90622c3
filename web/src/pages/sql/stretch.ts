// A result that is too long for one answer comes in stretches, which the server sorts.
import type { Sorting } from '../../components/table/columns'

/** Rows of one answer. */
export const STRETCH = 5000

/** A query without the semicolon that may end it, so that it can stand inside another. */
export function bare(query: string): string {
  return query.trim().replace(/(;\s*)+$/, '')
}

/** The query of a stretch; the first one in its own order is the query itself. */
export function stretchQuery(query: string, sorting: Sorting | null, offset: number): string {
  if (sorting === null && offset === 0) return query
  const order =
    sorting === null ? '' : `\nORDER BY ${quoted(sorting.column)} ${sorting.descending ? 'DESC' : 'ASC'} NULLS LAST`
  return `SELECT * FROM (\n${bare(query)}\n)${order}\nLIMIT ${STRETCH} OFFSET ${offset}`
}

export function countQuery(query: string): string {
  return `SELECT count(*) AS rows FROM (\n${bare(query)}\n)`
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
