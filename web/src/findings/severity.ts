// How much a finding weighs, as the server says: its colour, icon and word.
import type { Finding, RunVerdict } from '../api/schema'
import type { IconName } from '../components/icons'
import type { PlainKey } from '../i18n/language.svelte'
import { pagesOf } from './pages'

export type Severity = RunVerdict['severity']

/** Most serious first. */
const ORDER: readonly Severity[] = ['critical', 'warning', 'info', 'healthy']

export const SEVERITY_COLOUR: Readonly<Record<Severity, string>> = {
  critical: '--critical',
  warning: '--warning',
  info: '--accent',
  healthy: '--good',
}

export const SEVERITY_ICON: Readonly<Record<Severity, IconName>> = {
  critical: 'warning',
  warning: 'warning',
  info: 'info',
  healthy: 'check',
}

export const SEVERITY_WORD: Readonly<Record<Severity, PlainKey>> = {
  critical: 'finding.critical',
  warning: 'finding.warning',
  info: 'finding.info',
  healthy: 'finding.healthy',
}

/** The most serious finding that a page shows something of; null where there is none. */
export function worstOf(page: string, findings: readonly Finding[]): Severity | null {
  const found = findings.filter((one) => pagesOf(one).has(page)).map((one) => one.severity)
  return ORDER.find((severity) => found.some((one) => one === severity)) ?? null
}
