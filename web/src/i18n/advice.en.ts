// The Advice page.
import type { adviceZh } from './advice.zh'

export const adviceEn: Record<keyof typeof adviceZh, string> = {
  'advice.lead': 'Everything that was found, by severity: the evidence, what to change, and what it would gain.',
  'advice.whatif': 'What if?',
  'advice.whatif_lead':
    'The recorded steps are replayed with something changed. 100% is as recorded, 0% takes no time at all.',
  'advice.subject_data': 'Waiting for data',
  'advice.subject_host': 'Host work between launches',
  'advice.subject_communication': 'Communication',
  'advice.subject_sync': 'Synchronisation',
  'advice.subject_gc': 'Garbage collection',
  'advice.subject_compile': 'Compilation',
  'advice.subject_copies': 'Copies',
  'advice.subject_layout': 'Layout conversions',
  'advice.like_others': 'as fast as the others',
  'advice.recorded': '{time} per step, all ranks',
  'advice.whatif_wait': 'Move a slider: all {count} ranks are then replayed, which takes a while.',
  'advice.predicted': 'A step would take',
  'advice.against': 'instead of {period}.',
  'advice.saves': 'Saves {gain} ({share}).',
  'advice.costs': 'Takes {loss} longer.',
  'advice.replay_error': 'Replay error {share}',
  'advice.reset': 'Reset',
  'advice.path': 'How the diagnosis got there',
  'advice.yes': 'yes',
  'advice.no': 'no',
  'advice.unknown': 'not recorded',
  'advice.limit': 'limit {value}',
  'advice.copy': 'Copy as Markdown',
  'advice.validate': 'Check afterwards with',
  'advice.commands': 'In a terminal',
}
