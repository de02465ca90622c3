// What mending a finding gains where another fault sets the pace.
import type { Finding } from '../api/schema'

/** Of a step nobody would notice less. */
const NOTHING_US = 0.001

/** What mending it together with another saves at most; null where it saves something alone, or hides behind none. */
export function hiddenGainUs(finding: Pick<Finding, 'gain_us' | 'evidence'>): number | null {
  if (finding.gain_us === null || finding.gain_us >= NOTHING_US) return null
  const together = finding.evidence.filter((one) => one.metric === 'gain_together').map((one) => one.value)
  return together.length > 0 ? Math.max(...together) : null
}
