// The name of a track as it is shown: those that the server gives to curves of memory are words, not names.
import { t, type PlainKey } from '../../i18n/language.svelte'

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
