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

/** Entries whose words hold all that was typed; those that begin with it first, else in their order. */
export function fitting(entries: readonly PaletteEntry[], typed: string): readonly PaletteEntry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const scored = entries.flatMap((entry, order) => {
    const title = entry.title.toLowerCase()
    const whole = `${title} ${(entry.detail ?? '').toLowerCase()} ${entry.kind}`
    if (!words.every((word) => whole.includes(word))) return []
    const first = words[0] ?? ''
    const score = title.startsWith(first)
      ? 0
      : title.split(/[^\p{L}\p{N}]+/u).some((one) => one.startsWith(first))
        ? 1
        : 2
    return [{ entry, score, order }]
  })
  return scored
    .toSorted((a, b) => a.score - b.score || a.order - b.order)
    .slice(0, SHOWN)
    .map((one) => one.entry)
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
