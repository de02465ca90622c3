// Runs: the list, one run, and what can be done with it.
import { getJson, postJson, remove, upload } from './client'
import type { Listing, NoteEntry, NoteGroupEntry, RankFacts, RunDetails, RunList, RunSummary } from './schema'

export type { Listing, NoteEntry, NoteGroupEntry, RankFacts, RunDetails, RunList, RunSummary }

export const listRuns = (signal?: AbortSignal): Promise<RunList> => getJson('runs', {}, signal)
export const getRun = (id: string, signal?: AbortSignal): Promise<RunDetails> => getJson(runPath(id), {}, signal)
export const addRun = (path: string): Promise<RunSummary> => postJson('runs', { path, window: null })
export const openRun = (id: string): Promise<RunSummary> => postJson(`${runPath(id)}/open`, {})
export const dropRun = (id: string): Promise<void> => remove(runPath(id))
export const uploadRun = (file: File): Promise<RunSummary> => upload('runs/upload', file, { name: file.name })
export const browse = (path: string | null, signal?: AbortSignal): Promise<Listing> =>
  getJson('browse', { path }, signal)

/** The path of a run's routes. */
export function runPath(id: string): string {
  return `run/${encodeURIComponent(id)}`
}
