// The names of tracks and groups as they are shown: those that the server gives to curves of memory are words, not names.
import { t, type PlainKey } from '../../i18n/language.svelte'
import type { Box } from '../../timeline/layout'

const MEASURES: Readonly<Record<string, PlainKey>> = {
  allocated: 'timeline.memory_allocated',
  reserved: 'timeline.memory_reserved',
}

/** `allocated, PTA (B)` begins with what was measured, then comes the allocator's own name; the unit stands with the values. */
export function trackTitle(name: string): string {
  const [, measure = '', rest = ''] = /^(allocated|reserved)(.*) \(B\)$/.exec(name) ?? []
  const key = MEASURES[measure]
  return key === undefined ? name : t(key) + rest
}

/** Groups that no process names have names of their own. */
export function groupTitle(box: Pick<Box, 'title' | 'groupKind'>): string {
  if (box.groupKind === 'python') return t('timeline.group_python')
  if (box.groupKind === 'marks') return t('timeline.group_marks')
  if (box.groupKind === 'memory') return [t('timeline.group_memory'), box.title].filter(Boolean).join(' · ')
  return box.title || t('timeline.group_unnamed')
}
