// The Advice page.
import type { adviceZh } from './advice.zh'

export const adviceEn: Record<keyof typeof adviceZh, string> = {
  'advice.lead': 'Everything that was found, by severity: the evidence, what to change, and what it would gain.',
}
