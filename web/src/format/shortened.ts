// Long names in little room.

/** A long name, cut in the middle: template arguments at the end tell kernels apart as much as their beginning. */
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name
  const head = Math.ceil((most - 1) * 0.65)
  return `${name.slice(0, head)}…${name.slice(name.length - (most - 1 - head))}`
}
