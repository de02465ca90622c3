// Where the steps of the chosen rank lie, for the bands of time charts; empty where steps are not marked.
import { analysis } from '../api/documents'
import { ApiError } from '../api/errors'
import type { Step } from '../api/schema'
import { Resource } from './resource.svelte'
import type { Session } from './session.svelte'

export function stepSpans(session: Session): Resource<readonly Step[]> {
  return new Resource<readonly Step[]>(
    () => ((session.run?.step_list.length ?? 0) > 0 ? [session.runId, session.rank] : null),
    async (signal) => {
      try {
        return (await analysis<readonly Step[]>(session.runId ?? '', 'steps', { rank: session.rank }, signal)).data
      } catch (error) {
        // A run whose steps cannot be told still has curves.
        if (error instanceof ApiError) return []
        throw error
      }
    },
  )
}
