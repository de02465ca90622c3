// Reading a memory curve: its highest point in a stretch, and its value at a moment.

export interface Point {
  readonly at: number
  readonly value: number
}

/** The first highest value within a stretch; a value holds until the next one, so the one before counts too. */
export function highest(times: readonly number[], values: readonly number[], from: number, to: number): Point | null {
  let found: Point | null = null
  times.forEach((at, index) => {
    const until = times[index + 1] ?? Number.POSITIVE_INFINITY
    if (at > to || until <= from) return
    const value = values[index] ?? 0
    if (found === null || value > found.value) found = { at: Math.max(at, from), value }
  })
  return found
}
