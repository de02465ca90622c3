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

/** One sentence for the user: ours for codes the page knows, else the server's own, which is in both languages. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiError) {
    return lookUp(`error.${error.body.code}`, error.body.params) ?? error.body.message ?? t('error.unknown')
  }
  return error instanceof Error ? error.message : t('error.unknown')
}

/** What to do about it, or null. */
export function hintOf(error: unknown): string | null {
  return error instanceof ApiError ? error.body.hint : null
}
