// Distributions by operation: which operations there are, and how a stretch of values reads.
import type { DurationBin, PacketSize } from '../../api/schema'
import { shortName } from '../../timeline/shortName'

export interface BinnedOperation {
  readonly key: string
  readonly title: string
  readonly bins: readonly DurationBin[]
}

/** Operations with their stretches, the one with most calls first. */
export function operationsIn(bins: readonly DurationBin[]): readonly BinnedOperation[] {
  const groups = new Map<string, DurationBin[]>()
  for (const bin of bins) {
    const key = [bin.group ?? '', bin.kind ?? '', bin.name].join('|')
    groups.set(key, [...(groups.get(key) ?? []), bin])
  }
  const named = [...groups].map(([key, own]) => ({ key, title: titleOf(own[0], groups.size), bins: own }))
  return named.toSorted((a, b) => callsOf(b.bins) - callsOf(a.bins) || a.key.localeCompare(b.key))
}

/** Sizes without packets between those that have some: the axis goes from power of two to power of two. */
export function withEmptySizes(packets: readonly PacketSize[]): PacketSize[] {
  return packets.flatMap((one, index) => {
    const next = packets[index + 1]
    const filled = [one]
    if (next?.transport !== one.transport) return filled
    for (let from = Math.max(1, one.to_bytes); from < next.from_bytes; from *= 2)
      filled.push({ ...one, from_bytes: from, to_bytes: from * 2, packets: 0, bytes: 0, time_us: 0, gb_per_s: null })
    return filled
  })
}

/** `8 – 16 µs`: the unit once where both ends have the same. */
export function binText(from: string, to: string): string {
  const unit = to.split(' ').at(-1) ?? ''
  return from.endsWith(` ${unit}`) ? `${from.slice(0, -unit.length - 1)} – ${to}` : `${from} – ${to}`
}

function titleOf(bin: DurationBin | undefined, among: number): string {
  if (!bin) return ''
  const name = shortName(bin.name)
  return among > 1 && bin.group ? `${name} (${bin.group})` : name
}

function callsOf(bins: readonly DurationBin[]): number {
  return bins.reduce((sum, bin) => sum + bin.count, 0)
}
