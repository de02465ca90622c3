// What the server says when it cannot answer, and what the page says about it.
import { lookUp, t } from '../i18n/language.svelte'

export interface ErrorBody {
  readonly code: string
  readonly params: Readonly<Record<string, unknown>>
  readonly hint: string | null
  readonly message: string | null
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: ErrorBody,
  ) {
    super(body.message ?? body.code)
    this.name = 'ApiError'
  }
}

/** Whether the server itself could not be reached. */
export function isServerGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 0
}

/** Whether a request was given up on purpose. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

/** Codes of questions that need more than was recorded, and the page whose recipe records it. */
const RECORDED_BY: Readonly<Record<string, string>> = {
  no_steps: 'steps',
  no_operators: 'operators',
  operators_only_reported: 'operators',
  no_kernels: 'operators',
  no_runtime_calls: 'timeline',
  launches_nothing_recorded: 'timeline',
  no_flops: 'operators',
  flops_only_on_host: 'operators',
  no_communication: 'cluster',
  cluster_needs_ranks: 'cluster',
  memory_not_recorded: 'memory',
  leaks_too_few_steps: 'memory',
  leaks_history_too_short: 'memory',
}

/** The page whose recipe records what a question lacks; null where something else went wrong. */
export function recordedBy(error: unknown): string | null {
  return error instanceof ApiError ? (RECORDED_BY[error.body.code] ?? null) : null
}

/** One sentence for the user: ours for codes the page knows, else the server's own, which is in both languages. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiError) {
    return lookUp(`error.${error.body.code}`, error.body.params) ?? error.body.message ?? t('error.unknown')
  }
  return error instanceof Error ? error.message : t('error.unknown')
}

/** The same error about a file of the user, whose place on the server would tell them nothing. */
export function aboutFile(error: unknown, name: string): unknown {
  const path = error instanceof ApiError ? error.body.params['path'] : null
  if (!(error instanceof ApiError) || typeof path !== 'string') return error
  const message = error.body.message?.replaceAll(path, name) ?? null
  return new ApiError(error.status, { ...error.body, message, params: { ...error.body.params, path: name } })
}

/** What to do about it, or null. */
export function hintOf(error: unknown): string | null {
  return error instanceof ApiError ? error.body.hint : null
}
