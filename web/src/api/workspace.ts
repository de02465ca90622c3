// What a user keeps on the server: names and tags of runs, saved queries, saved views.
import { getJson, putJson, remove } from './client'
import { runPath } from './runs'
import type { RunSummary, SavedQuery, SavedView } from './schema'

export type { SavedQuery, SavedView }

export const listQueries = (signal?: AbortSignal): Promise<readonly SavedQuery[]> => getJson('queries', {}, signal)
export const saveQuery = (query: SavedQuery): Promise<readonly SavedQuery[]> => putJson('queries', query)
export const dropQuery = (name: string): Promise<void> => remove('queries', { name })

export const listViews = (run: string, signal?: AbortSignal): Promise<readonly SavedView[]> =>
  getJson(`${runPath(run)}/views`, {}, signal)
export const saveView = (run: string, view: SavedView): Promise<readonly SavedView[]> =>
  putJson(`${runPath(run)}/views`, view)
export const dropView = (run: string, name: string): Promise<void> => remove(`${runPath(run)}/views`, { name })

export const labelRun = (run: string, name: string | null, tags: readonly string[]): Promise<RunSummary> =>
  putJson(`${runPath(run)}/label`, { name, tags })
