// The document that every analysis gives, on the command line and here.
import { getJson, postJson, type Query } from './client'
import { runPath } from './runs'
import type { NoteEntry, NoteGroupEntry, RunHead, SqlDocument, TableInfo } from './schema'

export interface Document<T> {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: T
}

/** Any row of a table whose columns are only known at run time. */
export type Row = Readonly<Record<string, unknown>>

/** Ask one of the analyses about a run: the same numbers as `stepscope <name> --json`. */
export function analysis<T>(run: string, name: string, query: Query = {}, signal?: AbortSignal): Promise<Document<T>> {
  // Integers beyond 2^53 come as text: a JSON number would lose nanoseconds.
  return getJson(`${runPath(run)}/${name}`, { ...query, integers: 'text' }, signal)
}

export function sql(run: string, query: string, limit: number, signal?: AbortSignal): Promise<SqlDocument> {
  return postJson(`${runPath(run)}/sql?integers=text`, { query, limit }, signal)
}

/** Tables of a run with their columns. */
export function tables(run: string, signal?: AbortSignal): Promise<readonly TableInfo[]> {
  return getJson(`${runPath(run)}/tables`, {}, signal)
}
