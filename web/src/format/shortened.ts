// Long names in little room.

/** A long name, cut in the middle: template arguments at the end tell kernels apart as much as their beginning. */
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name
  const head = Math.ceil((most - 1) * 0.65)
  return `${name.slice(0, head)}…${name.slice(name.length - (most - 1 - head))}`
}

const TAIL = 12
/** Shorter names fit nearly everywhere. */
const LONG = 24

/** A name in two: the end, which stays in sight, and what before it may be cut; a short name has no end of its own. */
export function headAndTail(name: string): readonly [head: string, tail: string] {
  if (name.length <= LONG) return [name, '']
  // Half of a character that takes two units is none.
  const low = name.charCodeAt(name.length - TAIL)
  const at = name.length - TAIL + (low >= 0xdc00 && low <= 0xdfff ? 1 : 0)
  return [name.slice(0, at), name.slice(at)]
}
