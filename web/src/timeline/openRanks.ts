// How far the user opened or closed the strips of ranks, as it stands in the address: `3.2,5.0`.
import type { Openness } from './layout'

export type OpenRanks = ReadonlyMap<number, Openness>

export function openToText(open: OpenRanks): string | null {
  return open.size === 0 ? null : [...open].map(([rank, how]) => `${rank}.${how}`).join(',')
}

export function openFromText(text: string | undefined): OpenRanks {
  const open = new Map<number, Openness>()
  for (const piece of (text ?? '').split(',')) {
    const match = /^(\d+)\.([012])$/.exec(piece)
    if (match) open.set(Number(match[1]), Number(match[2]) as Openness)
  }
  return open
}
