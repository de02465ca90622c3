// The verdict and its findings.
import type { findingsZh } from './findings.zh'

export const findingsEn: Record<keyof typeof findingsZh, string> = {
  'finding.verdict': 'Verdict',
  'finding.critical': 'critical',
  'finding.warning': 'needs work',
  'finding.info': 'worth knowing',
  'finding.healthy': 'healthy',
  'finding.gain': 'up to {gain} less per step',
  'finding.baseline': 'vs. {value}',
  'finding.show': 'Show me',
  'finding.picture': 'rank {rank}, {time} of its timeline',
  'finding.more_evidence': '{count} more {count|number|numbers}',
  'finding.tour': 'Walk through {count} {count|stop|stops}',
  'tour.label': 'Tour',
  'tour.stop': 'stop {number} of {count}',
  'tour.next': 'Next stop (J)',
  'tour.previous': 'Previous stop (K)',
  'tour.end': 'End the tour',
  'finding.not_checked': '{count} {count|kind of problem|kinds of problems} could not be checked',
  'finding.checked': '{count} {count|kind|kinds} of problems checked',
  'finding.of_all_ranks': 'Verdict on all {count} ranks',
  'finding.more': '{count} more {count|finding|findings}',
  'finding.all': 'All advice',
  'list.separator': ', ',
  'finding.needs': 'needs {what}.',
  'finding.collect': 'To record it: {how}.',
}
