// Asking an analysis about the run that is open: the one way pages do it.
import type { Query } from '../api/client'
import { analysis } from '../api/documents'
import type * as schema from '../api/schema'
import { useSession } from './context'
import { Resource } from './resource.svelte'

/** The document of each question, as `stepscope <name> --json` prints it. */
export interface Answers {
  readonly 'api-statistics': schema.ApiStatisticsDocument
  readonly cluster: schema.ClusterDocument
  readonly collectives: schema.CollectivesDocument
  readonly communication: schema.CommunicationDocument
  readonly copies: schema.CopiesDocument
  readonly cpu: schema.CpuDocument
  readonly 'critical-path': schema.CriticalPathDocument
  readonly diagnose: schema.DiagnoseDocument
  readonly drill: schema.DrillDocument
  readonly flops: schema.FlopsDocument
  readonly launches: schema.LaunchesDocument
  readonly leaks: schema.LeaksDocument
  readonly marks: schema.MarksDocument
  readonly memory: schema.MemoryDocument
  readonly occurrences: schema.OccurrencesDocument
  readonly operators: schema.OperatorsDocument
  readonly pipeline: schema.PipelineDocument
  readonly ranks: schema.RanksDocument
  readonly steps: schema.StepsDocument
  readonly summary: schema.SummaryDocument
  readonly whatif: schema.WhatifDocument
}

/** The answer to a question about the open run. It is asked again when the query changes; null asks nothing.
 *
 * `const steps = useAnalysis('steps', () => ({ rank: session.rank }))`
 */
export function useAnalysis<N extends keyof Answers>(
  name: N,
  query: () => Query | null = () => ({}),
): Resource<Answers[N]> {
  const session = useSession()
  return new Resource(
    () => {
      const asked = query()
      return session.runId !== null && asked !== null ? [session.runId, asked] : null
    },
    async (signal) => (await analysis(session.runId ?? '', name, query() ?? {}, signal)) as unknown as Answers[N],
  )
}
