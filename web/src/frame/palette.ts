// What the palette offers, and which of it fits what was typed.
import { formatScope, parseScope } from '../router/scope'
import type { RunDetails } from '../api/schema'

export type EntryKind = 'page' | 'finding' | 'rank' | 'step' | 'run' | 'compare' | 'operator' | 'query' | 'action'

export interface PaletteEntry {
  readonly id: string
  readonly kind: EntryKind
  readonly title: string
  /** What stands behind the title, small; searched as well. */
  readonly detail?: string
  readonly go: () => void
}

const SHOWN = 40

/** Entries whose words hold all that was typed: the one that is it first, then those that begin with it, else in their order. */
export function fitting(entries: readonly PaletteEntry[], typed: string): readonly PaletteEntry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const scored = entries.flatMap((entry, order) => {
    const [title, detail] = [entry.title.toLowerCase(), (entry.detail ?? '').toLowerCase()]
    const whole = `${title} ${detail} ${entry.kind}`
    if (!words.every((word) => whole.includes(word))) return []
    return [{ entry, score: detail === words.join(' ') ? 0 : distance(title, words), order }]
  })
  return scored
    .toSorted((a, b) => a.score - b.score || a.order - b.order)
    .slice(0, SHOWN)
    .map((one) => one.entry)
}

/** How far a title is from what was typed; the less, the earlier it stands. */
function distance(title: string, words: readonly string[]): number {
  const first = words[0] ?? ''
  if (title === words.join(' ')) return 0
  if (title.startsWith(first)) return 1
  return title.split(/[^\p{L}\p{N}]+/u).some((one) => one.startsWith(first)) ? 2 : 3
}

/** The ranks that a text such as `5`, `0-7` or `dp:3` means; null where it means none. */
export function scopeTyped(typed: string, run: RunDetails): { readonly scope: string; readonly count: number } | null {
  const text = typed.trim().replace(/^ranks?\s+/i, '')
  if (!/^[\w:,.-]+$/.test(text) || !/\d|:/.test(text)) return null
  const known = run.rank_list.map((one) => one.rank)
  const { ranks, unknown, pending } = parseScope(text, { ranks: run.rank_list })
  if (unknown.length > 0 || (ranks.length === 0 && !pending)) return null
  return { scope: text.includes(':') ? text : formatScope(ranks, known), count: ranks.length }
}

/** The step that a text such as `7` or `step 7` means. */
export function stepTyped(typed: string, run: RunDetails): number | null {
  const number = /^(?:step\s+|迭代\s*)?(\d+)$/i.exec(typed.trim())?.[1]
  return number !== undefined && run.step_list.includes(Number(number)) ? Number(number) : null
}
