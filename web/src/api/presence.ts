// Asks an analysis only where the rank has something to analyse: a question without an answer is no error of the page.
import type { Query } from './client'
import { analysis, sql, type Document } from './documents'

/** Tables of which one must have rows of the rank, each with a condition if not any row counts. */
export type Source = readonly [table: string, condition?: string]

export function presenceQuery(rank: number, sources: readonly Source[]): string {
  const tests = sources.map(
    ([table, condition]) =>
      `EXISTS (SELECT 1 FROM ${table} WHERE rank = ${rank}${condition ? ` AND ${condition}` : ''})`,
  )
  return `SELECT ${tests.join(' OR ')} AS there`
}

/** The document of an analysis, or null where nothing of the kind was recorded on this rank. */
export async function analysisIfRecorded<T>(
  run: string,
  name: string,
  rank: number | undefined,
  sources: readonly Source[],
  query: Query,
  signal: AbortSignal,
): Promise<Document<T> | null> {
  const found = await sql(run, presenceQuery(rank ?? 0, sources), 1, signal)
  return found.data[0]?.['there'] === true ? analysis<T>(run, name, { rank, ...query }, signal) : null
}
