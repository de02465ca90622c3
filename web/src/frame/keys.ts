// Keys that work on every page, and those of single pages, for the help dialog.
import type { PlainKey } from '../i18n/language.svelte'
import { KEY_TABLE } from '../timeline/keyboard'

export interface KeyWords {
  readonly shown: readonly string[]
  readonly text: PlainKey
}

export const FRAME_KEYS: readonly KeyWords[] = [
  { shown: ['Ctrl+K'], text: 'key.palette' },
  { shown: ['?'], text: 'key.help' },
  { shown: ['J', 'K'], text: 'key.tour' },
  { shown: ['Alt+Click'], text: 'key.explain' },
  { shown: ['Esc'], text: 'key.close' },
]

const TABLE_KEYS: readonly KeyWords[] = [{ shown: ['↑', '↓', 'Enter'], text: 'key.table' }]
const PAGE_KEYS: Readonly<Record<string, readonly KeyWords[]>> = {
  timeline: KEY_TABLE.filter((line) => line.action !== 'help'),
  sql: [{ shown: ['Ctrl+Enter'], text: 'key.run_query' }, ...TABLE_KEYS],
}

/** Keys of one page beside those of the frame. */
export function keysOf(page: string): readonly KeyWords[] {
  return PAGE_KEYS[page] ?? []
}
