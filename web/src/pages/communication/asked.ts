// What the page asks of `communication`, as the query of its route.
export interface Asked {
  readonly step: number | null
  readonly group: string | null
  readonly operation: string | null
  /** Most waits of the answer. */
  readonly limit: number
}

/** The query by which the same answer can be asked for again: all ranks, and what is chosen. */
export function askedText(asked: Asked): string {
  const query = new URLSearchParams({ of: 'all' })
  for (const [name, value] of Object.entries(asked)) if (value !== null) query.set(name, String(value))
  return query.toString()
}
